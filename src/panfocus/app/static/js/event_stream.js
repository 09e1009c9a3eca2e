// The server's event stream. A browser opens only six connections to a server, and a stream occupies one of them.
// Therefore one tab, the one shown last, has the stream and forwards the messages to the other tabs.

const NAME = "panfocus-events"; // of the lock held by the tab with the stream, and of the broadcast channel
const RETRY_DELAY = 2000; // ms

/**
 * Follow the events. `handlers` has onOpen() (messages may have been missed before it), onMessage(message) and
 * onError().
 */
export function followStream(handlers) {
  if (!navigator.locks) {
    openStream(handlers); // an insecure address has no locks: each tab opens a stream
    return;
  }
  const others = new BroadcastChannel(NAME);
  others.onmessage = ({ data: [name, message] }) => handlers[name](message);
  const forward = (name) => (message) => {
    others.postMessage([name, message]);
    handlers[name](message);
  };
  const forwarding = Object.fromEntries(Object.keys(handlers).map((name) => [name, forward(name)]));
  let isLeader = false; // this tab has the stream, or is taking it
  let isWaiting = false; // until the leader is closed

  /** Hold the stream from when the lock is granted until another tab takes it. */
  async function lead(options) {
    let close = () => {};
    try {
      await navigator.locks.request(NAME, options, () => {
        isLeader = true;
        if (!options.steal) isWaiting = false;
        close = openStream(forwarding);
        return new Promise(() => {});
      });
    } catch {
      close();
      isLeader = false;
      wait();
    }
  }

  function wait() {
    if (isWaiting) return;
    isWaiting = true;
    lead({ steal: false });
  }

  /** Take the stream from another tab: a hidden tab may be suspended, or blocked by a dialog. */
  function take() {
    if (isLeader || document.hidden) return;
    isLeader = true;
    lead({ steal: true });
  }

  document.addEventListener("visibilitychange", take);
  if (document.hidden) {
    handlers.onOpen();
    wait();
  } else take();
}

/** Open a stream. Return the function that closes it. */
function openStream({ onOpen, onMessage, onError }) {
  let source = null;
  let retry = 0;

  function connect() {
    source = new EventSource("/api/events");
    source.onopen = () => onOpen();
    source.onmessage = ({ data }) => onMessage(JSON.parse(data));
    source.onerror = () => {
      onError();
      // After an error response the browser does not reconnect.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, RETRY_DELAY);
    };
  }

  connect();
  return () => {
    clearTimeout(retry);
    source.close();
  };
}

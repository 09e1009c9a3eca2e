// The server's events. A browser opens only six connections to a server, and a stream takes one of them for as long as
// it is open: so one tab has the stream, the one that was shown last, and it passes on to the others what comes.

const NAME = "panfocus-events"; // of the lock that the tab with the stream holds, and of the channel to the others
const RETRY = 2000; // ms until a server that refused the stream is asked again

/** Follow the events; `on` has opened(), after which all that was told before is old, told(message), and lost(). */
export function followStream(on) {
  if (!navigator.locks) {
    openStream(on); // as in an address that the browser does not trust: each tab for itself
    return;
  }
  const others = new BroadcastChannel(NAME);
  others.onmessage = ({ data: [what, message] }) => on[what](message);
  const pass = (what) => (message) => {
    others.postMessage([what, message]);
    on[what](message);
  };
  const all = { opened: pass("opened"), told: pass("told"), lost: pass("lost") };
  let leads = false; // this tab has the stream, or takes it now
  let waits = false; // for the tab that has it to be closed

  /* Have the stream as soon as the lock is ours, until another tab takes it. */
  async function lead(options) {
    let close = () => {};
    try {
      await navigator.locks.request(NAME, options, () => {
        leads = true;
        if (!options.steal) waits = false;
        close = openStream(all);
        return new Promise(() => {});
      });
    } catch {
      close();
      leads = false;
      wait();
    }
  }

  function wait() {
    if (waits) return;
    waits = true;
    lead({ steal: false });
  }

  /* Not left with the one that has it: a tab that is not seen may be asleep, or wait for an answer to a question. */
  function take() {
    if (leads || document.hidden) return;
    leads = true;
    lead({ steal: true });
  }

  document.addEventListener("visibilitychange", take);
  if (document.hidden) {
    on.opened();
    wait();
  } else take();
}

/** A stream of this tab alone; gives the function that closes it. */
function openStream(on) {
  let source = null;
  let retry = 0;

  function connect() {
    source = new EventSource("/api/events");
    source.onopen = () => on.opened();
    source.onmessage = ({ data }) => on.told(JSON.parse(data));
    source.onerror = () => {
      on.lost();
      // An answer other than a stream: the browser does not try again, so we do.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, RETRY);
    };
  }

  connect();
  return () => {
    clearTimeout(retry);
    source.close();
  };
}

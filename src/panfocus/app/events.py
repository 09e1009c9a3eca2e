"""Server-sent events: every open page soon gets the latest state of each object that changes."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

SECONDS_BETWEEN = 0.2  # messages to a page
_SECONDS_OF_SILENCE = 15.0  # then a comment keeps the connection alive

_revisions = itertools.count(1)


def with_revision(view: dict[str, Any]) -> dict[str, Any]:
    """Return the view of an object with a number that rises with every view.

    An answer to a request may reach the page after an event that is newer; the page ignores it then.
    """
    return view | {"revision": next(_revisions)}


class Events:
    """Sends messages to all open pages. Use it only in the server's event loop."""

    def __init__(self) -> None:
        self._subscribers: set[_Subscriber] = set()
        self._closed = False

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to all pages; a newer message about the same object replaces one that waits."""
        about = message.get(message["kind"])
        name = about["id"] if isinstance(about, dict) else message.get("id", "")
        text = json.dumps(message)  # at once: the object may change before it is sent
        self._put((message["kind"], name), lambda: text)

    def send_latest(self, kind: str, name: str, content: Callable[[], dict[str, Any] | None]) -> None:
        """Send the message that `content` returns at the moment of sending; none if it returns None.

        A newer message of the same kind and name replaces one that waits.
        """

        def text() -> str | None:
            message = content()
            return None if message is None else json.dumps(message)

        self._put((kind, name), text)

    def _put(self, about: tuple[str, str], text: Callable[[], str | None]) -> None:
        for subscriber in self._subscribers:
            # Removed first, so that it moves to the end.
            subscriber.pending.pop(about, None)
            subscriber.pending[about] = text
            subscriber.wake.set()

    def close(self) -> None:
        """End all streams, so that the server can stop."""
        self._closed = True
        for subscriber in self._subscribers:
            subscriber.wake.set()

    async def stream(self) -> AsyncIterator[str]:
        """Yield the text of an event stream that starts now."""
        subscriber = _Subscriber()
        self._subscribers.add(subscriber)
        try:
            yield ": welcome\n\n"
            while not self._closed:
                try:
                    await asyncio.wait_for(subscriber.wake.wait(), _SECONDS_OF_SILENCE)
                except TimeoutError:
                    yield ": ping\n\n"
                    continue
                subscriber.wake.clear()
                pending, subscriber.pending = subscriber.pending, {}
                texts = [text() for text in pending.values()]
                yield "".join(f"data: {text}\n\n" for text in texts if text is not None)
                await asyncio.sleep(SECONDS_BETWEEN)
        finally:
            self._subscribers.discard(subscriber)


class _Subscriber:
    """One open page."""

    def __init__(self) -> None:
        self.pending: dict[tuple[str, str], Callable[[], str | None]] = {}  # texts, by kind and id
        self.wake = asyncio.Event()


async def _listen(request: Request) -> StreamingResponse:
    events: Events = request.app.state.app.events
    return StreamingResponse(events.stream(), media_type="text/event-stream")


routes = [Route("/api/events", _listen)]

"""Server-sent events: every open page soon gets the latest state of each object that changes."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
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
        # Encoded at once: the object may change before it is sent.
        text = json.dumps(message, ensure_ascii=True)
        self._put((message["kind"], _id_of(message)), lambda: text)

    def send_latest(self, kind: str, name: str, content: Callable[[], dict[str, Any] | None]) -> None:
        """Send a large object in the state of the moment of sending; nothing if `content` returns None."""

        def text() -> str | None:
            latest = content()
            return None if latest is None else json.dumps({"kind": kind, kind: latest}, ensure_ascii=True)

        self._put((kind, name), text)

    def send_part(self, kind: str, name: str, part: int, content: Callable[[set[int]], Any | None]) -> None:
        """Send a part of a large object, together with other parts that wait.

        `content` returns the message about some parts. If the whole object waits, its parts are not sent.
        """
        for subscriber in self._subscribers:
            if (kind, name) in subscriber.pending:
                continue
            parts = subscriber.parts.setdefault(name, set())
            parts.add(part)
            subscriber.pending["part", name] = partial(_text_of_parts, content, parts)
            subscriber.wake.set()

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
                pending, subscriber.pending, subscriber.parts = subscriber.pending, {}, {}
                texts = [text() for text in pending.values()]
                yield "".join(f"data: {text}\n\n" for text in texts if text is not None)
                await asyncio.sleep(SECONDS_BETWEEN)
        finally:
            self._subscribers.discard(subscriber)


class _Subscriber:
    """One open page."""

    def __init__(self) -> None:
        self.pending: dict[tuple[str, str], Callable[[], str | None]] = {}  # texts, by kind and id
        self.parts: dict[str, set[int]] = {}  # that are pending, by the id of their object
        self.wake = asyncio.Event()


def _text_of_parts(content: Callable[[set[int]], Any | None], parts: set[int]) -> str | None:
    message = content(parts)
    return None if message is None else json.dumps(message, ensure_ascii=True)


def _id_of(message: dict[str, Any]) -> str:
    about = message.get(message["kind"])
    return str(about["id"]) if isinstance(about, dict) else str(message.get("id", ""))


async def _listen(request: Request) -> StreamingResponse:
    events: Events = request.app.state.app.events
    return StreamingResponse(events.stream(), media_type="text/event-stream")


routes = [Route("/api/events", _listen)]

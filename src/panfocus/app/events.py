"""Changes, told to every open page as server-sent events: of each object the last state, soon and always."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

SECONDS_BETWEEN = 0.2  # messages on one object
SECONDS_OF_SILENCE = 15.0  # after which a comment keeps the connection alive

_revisions = itertools.count(1)


def numbered(view: dict[str, Any]) -> dict[str, Any]:
    """Return what a page is told of an object, with a number: what is told later has a higher one.

    Answers to requests and events come by different ways: an answer may arrive after an event that is newer.
    """
    return view | {"revision": next(_revisions)}


class Events:
    """The hub: what is told goes to all that listen. To be used in the server's event loop alone."""

    def __init__(self) -> None:
        self._listeners: set[_Listener] = set()
        self._closed = False

    def tell(self, message: dict[str, Any]) -> None:
        """Tell all pages; of several messages on one object within a moment only the last is sent."""
        # Turned to text at once: the object may have changed before it is sent.
        text = json.dumps(message, ensure_ascii=True)
        self._put((message["kind"], _id_of(message)), lambda: text)

    def tell_latest(self, kind: str, name: str, content: Callable[[], dict[str, Any] | None]) -> None:
        """Tell all pages of a large object as it is when it is sent; of none if it is gone by then."""

        def text() -> str | None:
            latest = content()
            return None if latest is None else json.dumps({"kind": kind, kind: latest}, ensure_ascii=True)

        self._put((kind, name), text)

    def tell_part(self, kind: str, name: str, part: int, content: Callable[[set[int]], Any | None]) -> None:
        """Tell all pages of a part of a large object; of several within a moment at once, as they are then.

        `content` returns the message on some parts. Where all of the object is about to be told, that does.
        """
        for listener in self._listeners:
            if (kind, name) in listener.pending:
                continue
            parts = listener.parts.setdefault(name, set())
            parts.add(part)
            listener.pending["part", name] = partial(_text_of_parts, content, parts)
            listener.wake.set()

    def _put(self, about: tuple[str, str], text: Callable[[], str | None]) -> None:
        for listener in self._listeners:
            # To the end: what is told of last comes last.
            listener.pending.pop(about, None)
            listener.pending[about] = text
            listener.wake.set()

    def close(self) -> None:
        """End all streams: the server stops."""
        self._closed = True
        for listener in self._listeners:
            listener.wake.set()

    async def stream(self) -> AsyncIterator[str]:
        """Yield the text of an event stream, from now on."""
        listener = _Listener()
        self._listeners.add(listener)
        try:
            yield ": welcome\n\n"
            while not self._closed:
                try:
                    await asyncio.wait_for(listener.wake.wait(), SECONDS_OF_SILENCE)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                listener.wake.clear()
                pending, listener.pending, listener.parts = listener.pending, {}, {}
                texts = [text() for text in pending.values()]
                yield "".join(f"data: {text}\n\n" for text in texts if text is not None)
                await asyncio.sleep(SECONDS_BETWEEN)
        finally:
            self._listeners.discard(listener)


class _Listener:
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

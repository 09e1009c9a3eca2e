"""How the server answers: plain data, or one line that says what is wrong."""

import asyncio
import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import read_if_exists
from panfocus.job.memory_plan import format_size

logger = logging.getLogger(__name__)

MOST_JSON = 48_000_000  # bytes: all the points that strokes may have


class Refusal(Exception):  # noqa: N818  # to be read as a sentence: raise Refusal(404, ...)
    """A request that is not granted: an HTTP status, and one line for the user."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Answer(JSONResponse):
    """Plain data as JSON in ASCII, which can hold any name of a file, of bytes that are not UTF-8 as well."""

    def render(self, content: Any) -> bytes:
        """Write the data in one line."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


async def small_file(
    path: Path, media_type: str, *, missing: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with a file as it is at this moment: one that is sent by and by may be replaced meanwhile."""
    data = await asyncio.to_thread(read_if_exists, path)
    if data is None:
        raise Refusal(404, missing)
    return Response(data, media_type=media_type, headers=headers)


def path_number(request: Request, name: str) -> int:
    """Return a number in the path of a request; one of more digits than are ever given leads nowhere."""
    text = request.path_params[name]
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise Refusal(404, f"there is no {name} {text[:40]}")
    return int(text)


async def json_body(request: Request, *, most: int = MOST_JSON) -> dict[str, Any]:
    """Read the plain data, an object, that came with a request; no more than so many bytes of it."""
    body, n_bytes = bytearray(), 0
    async for chunk in request.stream():  # to its end, so that its size can be told
        n_bytes += len(chunk)
        if n_bytes <= most:
            body += chunk
    if n_bytes > most:
        raise Refusal(
            413,
            f"this has {format_size(n_bytes)}, more than the {format_size(most)} that are taken at once; "
            "send less of it, such as fewer strokes",
        )
    try:
        content = json.loads(body)
        # What is kept has to be read again: neither NaN, nor half a character that no file's name can hold.
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode(errors="surrogateescape")
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise Refusal(400, "the request must hold a JSON object, of finite numbers and whole characters")
    return content


async def refused(request: Request, error: Exception) -> Answer:
    """Answer with the line of a refusal, or of an error that panfocus raised on purpose."""
    status = 400
    if isinstance(error, Refusal | HTTPException):
        status = error.status if isinstance(error, Refusal) else error.status_code
    text = error.detail if isinstance(error, HTTPException) else str(error)
    return _told(request, text, status)


async def failed(request: Request, error: Exception) -> Answer:
    """Answer with one line where something went wrong that nobody thought of; the log has the rest."""
    logger.error("%s %s", request.method, request.url.path, exc_info=error)
    return _told(request, f"unexpected {type(error).__name__}: {error}", 500)


def _told(request: Request, text: str, status: int) -> Answer:
    """Answer in one line, which names files as the user knows them."""
    return Answer({"error": request.app.state.app.store.as_known(" ".join(text.split()))}, status)


HANDLERS: dict[Any, Any] = {
    Refusal: refused,
    PanfocusError: refused,
    HTTPException: refused,
    Exception: failed,
}

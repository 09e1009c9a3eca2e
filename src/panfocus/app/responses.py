"""Requests and responses: JSON bodies, JSON answers, and one line for every error."""

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

from panfocus.app.wording import describe_error
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import read_if_exists
from panfocus.job.memory_plan import format_size

logger = logging.getLogger(__name__)

MAX_JSON_BYTES = 48_000_000  # holds all the points that strokes may have
CACHE_FOR_A_DAY = {"Cache-Control": "private, max-age=86400"}


class RequestError(PanfocusError):
    """A request that is refused with an HTTP status."""

    def __init__(self, status: int, message: str, *, hint: str | None = None, **facts: Any) -> None:
        super().__init__(message, hint=hint, **facts)
        self.status = status


class JsonAnswer(JSONResponse):
    """JSON in ASCII: it can hold any file name, even one that is not valid UTF-8."""

    def render(self, content: Any) -> bytes:
        """Encode the content in one line."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


async def file_answer(
    path: Path, media_type: str, *, missing: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with a small file, read at once: a file that is streamed may be replaced meanwhile."""
    data = await asyncio.to_thread(read_if_exists, path)
    if data is None:
        raise RequestError(404, missing)
    return Response(data, media_type=media_type, headers=headers)


def path_number(request: Request, name: str) -> int:
    """Return a number of up to 9 digits in the path of a request."""
    text = request.path_params[name]
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise RequestError(404, f"There is no {name} {text[:40]}.", got=text)
    return int(text)


async def json_body(request: Request) -> dict[str, Any]:
    """Read the JSON object in the body of a request."""
    body, n_bytes = bytearray(), 0
    async for chunk in request.stream():  # to its end, to report the size
        n_bytes += len(chunk)
        if n_bytes <= MAX_JSON_BYTES:
            body += chunk
    if n_bytes > MAX_JSON_BYTES:
        sizes = f"{format_size(n_bytes)}, more than the limit of {format_size(MAX_JSON_BYTES)}"
        message = f"The request has {sizes}. Send less at once, such as fewer strokes."
        raise RequestError(413, message, got=n_bytes, limit=MAX_JSON_BYTES)
    try:
        content = json.loads(body)
        # It must be possible to store it: no NaN, no lone surrogate that no file name contains.
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode(errors="surrogateescape")
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise RequestError(400, "The request must be a JSON object with finite numbers and valid Unicode.")
    return content


async def answer_error(request: Request, error: Exception) -> JsonAnswer:
    """Answer a request that failed: one line in `error`, and facts such as the `setting` that is wrong."""
    if isinstance(error, HTTPException):
        text, status = error.detail, error.status_code
    elif isinstance(error, PanfocusError):
        text, status = describe_error(error), getattr(error, "status", 400)
    else:
        logger.error("%s %s", request.method, request.url.path, exc_info=error)
        text, status = describe_error(error), 500
    shorten_paths = request.app.state.app.store.shorten_paths
    facts = {
        name: shorten_paths(value) if isinstance(value, str) else value
        for name, value in getattr(error, "facts", {}).items()
        if isinstance(value, str | int)  # others may have no form in JSON
    }
    return JsonAnswer({"error": shorten_paths(text), "facts": facts}, status)


HANDLERS: dict[Any, Any] = dict.fromkeys((PanfocusError, HTTPException, Exception), answer_error)

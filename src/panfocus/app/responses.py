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

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
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
        raise RequestError(404, f"There is no {name} {text[:40]}.")
    return int(text)


async def json_body(request: Request, *, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """Read the JSON object in the body of a request."""
    body, n_bytes = bytearray(), 0
    async for chunk in request.stream():  # to its end, to report the size
        n_bytes += len(chunk)
        if n_bytes <= max_bytes:
            body += chunk
    if n_bytes > max_bytes:
        raise RequestError(
            413,
            f"The request has {format_size(n_bytes)}, more than the limit of {format_size(max_bytes)}. "
            "Send less at once, such as fewer strokes.",
        )
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
    """Answer a request that was refused, or that failed for a known reason."""
    if isinstance(error, HTTPException):
        return _error_answer(request, error.detail, error.status_code)
    return _error_answer(request, describe_error(error), getattr(error, "status", 400))


async def answer_crash(request: Request, error: Exception) -> JsonAnswer:
    """Answer a request that failed for an unknown reason; the log has the traceback."""
    logger.error("%s %s", request.method, request.url.path, exc_info=error)
    return _error_answer(request, describe_error(error), 500)


def _error_answer(request: Request, text: str, status: int) -> JsonAnswer:
    return JsonAnswer({"error": request.app.state.app.store.shorten_paths(text)}, status)


HANDLERS: dict[Any, Any] = {PanfocusError: answer_error, HTTPException: answer_error, Exception: answer_crash}

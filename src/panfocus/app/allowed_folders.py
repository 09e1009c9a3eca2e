"""Allowed folders: the page opens only files below the folders that the user named."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.routing import Route

from panfocus.app.responses import JsonAnswer, RequestError, json_body
from panfocus.app.wording import page_text
from panfocus.io.input_files import INPUT_SUFFIXES, find_inputs, sort_naturally

_MAX_PATH_SHOWN = 300  # characters
_MAX_NAMES_SHOWN = 5


class AllowedFolders:
    """The folders that may be opened, with everything below them; symbolic links count as their targets."""

    def __init__(self, roots: Iterable[Path]) -> None:
        self.roots = [root.resolve() for root in roots]

    def resolve(self, path: object) -> Path:
        """Return the target of a path that the page sent; refuse one outside the allowed folders."""
        if not isinstance(path, str) or not path or "\0" in path:
            raise RequestError(400, "A path must be a string.")
        target = _resolve(path)
        if not Path(path).is_absolute() or not self._is_inside(target):
            raise self._outside(path)
        try:
            target.stat()
        except OSError as error:
            raise RequestError(404, f"{path[:_MAX_PATH_SHOWN]}: {error.strerror}.", file=path) from None
        return target

    def check_opened(self, path: str) -> None:
        """Refuse a file that was opened before if a symbolic link now leads out of the allowed folders.

        Call it whenever such a file is read. A file that is still in its place may be read, whichever folders
        the server was started with this time.
        """
        target = _resolve(path)
        if target != Path(path) and not self._is_inside(target):
            raise self._outside(path)

    def resolve_file(self, path: object) -> Path:
        """Return the target of a path that the page sent; refuse anything but an allowed file."""
        target = self.resolve(path)
        if not target.is_file():
            raise RequestError(404, f"{target} is not a file.", file=str(target))
        return target

    def images_in(self, path: object) -> tuple[Path, list[Path], list[str]]:
        """Return a folder, its images, and lines on the files that are skipped."""
        folder = self.resolve(path)
        if not folder.is_dir():
            raise RequestError(400, f"{folder} is not a folder.", file=str(folder))
        notices: list[str] = []
        images, refused, reason = [], [], None
        for image in find_inputs([folder], warn=lambda notice: notices.append(page_text(notice))):
            try:
                images.append(self.resolve_file(str(image)))
            except RequestError as error:
                refused.append(image.name)
                reason = reason or error
        if reason and not images:
            raise reason
        if refused:
            names = ", ".join(refused[:_MAX_NAMES_SHOWN])
            more = ", ..." if len(refused) > _MAX_NAMES_SHOWN else ""
            notices.append(
                f"Skipped in {folder}: {names}{more}. These are not regular files, or are symbolic links "
                "that are broken or lead out of the allowed folders."
            )
        return folder, images, notices

    def listing(self, path: object) -> dict[str, Any]:
        """Return the folders and the image files in a folder."""
        folder = self.resolve(path) if path else self.roots[0]
        try:
            inside = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
            folders = [entry for entry in inside if entry.is_dir() and self._is_inside(entry.resolve())]
            files = [
                {"name": entry.name, "bytes": entry.stat().st_size}
                for entry in sort_naturally(inside)
                if is_image_name(entry.name) and entry.is_file() and self._is_inside(entry.resolve())
            ]
        except OSError as error:
            raise RequestError(404, f"{folder}: {error.strerror}.", file=str(folder)) from error
        return {
            "path": str(folder),
            "parent": None if folder in self.roots else str(folder.parent),
            "folders": [entry.name for entry in sort_naturally(folders)],
            "files": files,
        }

    def _outside(self, path: str) -> RequestError:
        allowed = ", ".join(map(str, self.roots))
        return RequestError(
            403,
            f"{path[:_MAX_PATH_SHOWN]} is outside the folders that panfocus app may open: {allowed}. "
            "Name other folders when you start it.",
            file=path,
        )

    def _is_inside(self, place: Path) -> bool:
        return any(place.is_relative_to(root) for root in self.roots)


def _resolve(path: str) -> Path:
    """Return the target of a path, whether it exists or not."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError):
        message = f"{path[:_MAX_PATH_SHOWN]}: this symbolic link is a loop."
        raise RequestError(403, message, file=path) from None


def is_image_name(name: str) -> bool:
    """Return whether a file name has the suffix of an image."""
    return Path(name).suffix.lower() in INPUT_SUFFIXES


async def _list(request: Request) -> JsonAnswer:
    folders: AllowedFolders = request.app.state.app.folders
    return JsonAnswer(await run_in_threadpool(folders.listing, (await json_body(request)).get("path")))


# POST: unlike a URL, JSON can hold every file name.
routes = [Route("/api/folders", _list, methods=["POST"])]

"""What on this computer may be opened: what lies in the folders that the user named, and nothing else."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.routing import Route

from panfocus.app.responses import Answer, Refusal, json_body
from panfocus.io.input_files import INPUT_SUFFIXES, find_inputs, sort_naturally

_MOST_SHOWN = 300  # characters of a path, in a message
_MOST_NAMED = 5  # files that are left out


class Folders:
    """The folders that may be opened, with all below them; links count as what they lead to."""

    def __init__(self, roots: Iterable[Path]) -> None:
        self.roots = [root.resolve() for root in roots]

    def checked(self, given: object) -> Path:
        """Return the place that a path leads to, or refuse one that leads elsewhere."""
        if not isinstance(given, str) or not given or "\0" in given:
            raise Refusal(400, "a path must be a text")
        place = _resolved(given)
        if not Path(given).is_absolute() or not self._is_inside(place):
            raise self._outside(given)
        try:
            place.stat()
        except OSError as error:  # nothing is there, it may not be read, or no file can have such a name
            raise Refusal(404, f"{given[:_MOST_SHOWN]}: {error.strerror}") from None
        return place

    def check_again(self, opened: str) -> None:
        """Refuse the path of a file that was opened if a link in its place, or above it, leads elsewhere now.

        To be asked whenever it is read. What is still where it was may be read, whatever folders are named
        when the program is started again.
        """
        place = _resolved(opened)
        if place != Path(opened) and not self._is_inside(place):
            raise self._outside(opened)

    def checked_file(self, given: object) -> Path:
        """Return the file that a path leads to, or refuse a path that leads to none, or elsewhere."""
        place = self.checked(given)
        if not place.is_file():
            raise Refusal(404, f"{place} is not a file")
        return place

    def images_in(self, given: object) -> tuple[Path, list[Path], list[str]]:
        """Return a folder, its images, and lines on what is left out, such as links that lead elsewhere."""
        folder = self.checked(given)
        if not folder.is_dir():
            raise Refusal(400, f"{folder} is not a folder")
        lines: list[str] = []
        images, refused, why = [], [], None
        for path in find_inputs([folder], warn=lines.append):
            try:
                images.append(self.checked_file(str(path)))
            except Refusal as refusal:
                refused.append(path.name)
                why = why or refusal
        if why and not images:
            raise why
        if refused:
            names = ", ".join(refused[:_MOST_NAMED]) + (", ..." if len(refused) > _MOST_NAMED else "")
            why_not = "links that lead nowhere or out of the folders that panfocus app may open, or no files"
            lines.append(f"left out in {folder}: {names}; these are {why_not}")
        return folder, images, lines

    def listing(self, given: object) -> dict[str, Any]:
        """Return what a folder holds: folders, and files that are images by their names."""
        place = self.checked(given) if given else self.roots[0]
        try:
            inside = [path for path in place.iterdir() if not path.name.startswith(".")]
            folders = [path for path in inside if path.is_dir() and self._is_inside(path.resolve())]
            files = [
                {"name": path.name, "bytes": path.stat().st_size}
                for path in sort_naturally(inside)
                if is_image_name(path.name) and path.is_file() and self._is_inside(path.resolve())
            ]
        except OSError as error:
            raise Refusal(404, f"{place}: {error.strerror}") from error
        return {
            "path": str(place),
            "parent": None if place in self.roots else str(place.parent),
            "folders": [path.name for path in sort_naturally(folders)],
            "files": files,
        }

    def _outside(self, given: str) -> Refusal:
        allowed = ", ".join(map(str, self.roots))
        return Refusal(
            403,
            f"{given[:_MOST_SHOWN]} may not be opened; panfocus app was started for {allowed}; "
            "name others there",
        )

    def _is_inside(self, place: Path) -> bool:
        return any(place.is_relative_to(root) for root in self.roots)


def _resolved(given: str) -> Path:
    """Return what a path leads to, whether it is there or not."""
    try:
        return Path(given).resolve()
    except (OSError, RuntimeError):  # a link that leads back to itself
        raise Refusal(403, f"{given[:_MOST_SHOWN]}: this path leads nowhere") from None


def is_image_name(name: str) -> bool:
    """Tell whether a file is an image by its name."""
    return Path(name).suffix.lower() in INPUT_SUFFIXES


async def _list(request: Request) -> Answer:
    folders: Folders = request.app.state.app.folders
    return Answer(await run_in_threadpool(folders.listing, (await json_body(request)).get("path")))


# By POST: an address cannot hold every name, JSON can.
routes = [Route("/api/folders", _list, methods=["POST"])]

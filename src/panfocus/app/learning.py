"""Learning of dictionaries from rectangles on a registered pair; routes of learned dictionaries."""

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from panfocus.app.responses import RequestError, file_answer
from panfocus.app.state import ATOMS, EXPORTS, PageJob, new_learning
from panfocus.app.work_folder import now
from panfocus.job.training_data import HELP

if TYPE_CHECKING:
    from panfocus.app.server import App

# Settings of `panfocus learn`: default, minimum and maximum. Larger values take hours, or too much memory.
SETTINGS = {
    "patch_size": (8, 2, 32),
    "atoms": (256, 1, 4096),
    "max_atoms": (5, 1, 64),
    "rounds": (10, 1, 1000),
    "samples": (30_000, 1, 1_000_000),
    "seed": (0, 0, 2**31 - 1),
}
MAX_REGIONS = 1000
_REGION_KEYS = ("focused", "blurred", "top", "left", "height", "width")
_NAME = re.compile(r"\w[\w -]{0,59}")


def setting_forms() -> list[dict[str, Any]]:
    """Describe the settings of learning, as `option_schema.methods` describes those of methods."""
    return [
        {
            "name": name,
            "kind": "integer",
            "default": default,
            "min": minimum,
            "max": maximum,
            "help": HELP[name],
        }
        for name, (default, minimum, maximum) in SETTINGS.items()
    ]


def add_learning(app: "App", wanted: dict[str, Any]) -> PageJob:
    """Queue the learning of a dictionary.

    Regions refer to the used files of the stack by number; if a `job` is named, to its aligned frames.
    """
    stack = app.store.stacks.get(str(wanted.get("stack")))
    name = _check_name(app, wanted.get("name"))
    settings = _check_settings(wanted.get("settings") or {})
    source = None if wanted.get("job") is None else app.store.jobs.get(str(wanted["job"]))
    frames: list[str] | range
    if source is None:
        frames = [str(path) for path in app.stacks.paths(stack)]
    elif source.fusion is None:
        raise RequestError(409, "This job has no aligned frames yet.", job=source.id)
    else:
        frames = range(source.fusion["n_frames"])
    regions = _check_regions(wanted.get("regions"), frames)
    with app.store.jobs.new_folder() as folder:
        path = folder / EXPORTS / "regions.toml"
        task = {
            "task": "learn",
            "folder": str(folder),
            "file": str(path),
            "frames_of": None if source is None else str(app.store.jobs.folder(source.id)),
            "regions": regions,
            "reads": frames if isinstance(frames, list) else [],
            "settings": settings,
            "output": str(app.store.dictionary_file(name)),
        }
        job = PageJob(
            id=folder.name,
            created=now(),
            stack=stack.id,
            kind="learn",
            name=name,
            options={"settings": settings, "regions": wanted["regions"]},
            command=learn_command(path.name, settings, f"{name}.npz"),
            task=task,
            learning=new_learning(),
        )
        app.jobs.add(job)
    return job


def learn_command(regions: str, settings: dict[str, int], output: str) -> str:
    """Return the command that learns the same, run in the folder of the regions file and its frames."""
    arguments = ["panfocus", "learn", "--regions", regions]
    for name, value in settings.items():
        if value != SETTINGS[name][0]:
            arguments += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*arguments, "-o", output])


def _check_name(app: "App", name: object) -> str:
    from panfocus.dictionary.coupled import DEFAULT_NAMES

    name = name.strip() if isinstance(name, str) else ""
    if not _NAME.fullmatch(name):
        message = "The name of a dictionary has 1 to 60 letters, digits, spaces, dashes and underscores."
        raise RequestError(400, message, setting="name", got=name)
    queued = [job.name for job in app.store.jobs.all() if job.kind == "learn" and job.is_open]
    taken = [*DEFAULT_NAMES, *app.store.dictionary_names(), *queued]
    # Without case: on some disks both names are one file.
    if other := next((each for each in taken if each.casefold() == name.casefold()), None):
        message = f"There is already a dictionary {other}. Choose another name."
        raise RequestError(409, message, setting="name", got=name)
    return name


def _check_settings(wanted: object) -> dict[str, int]:
    if not isinstance(wanted, dict) or not wanted.keys() <= SETTINGS.keys():
        raise RequestError(400, f"Unknown setting; known: {', '.join(SETTINGS)}.", setting="settings")
    settings = {}
    for name, (default, minimum, maximum) in SETTINGS.items():
        value = wanted.get(name, default)
        if type(value) is not int or not minimum <= value <= maximum:
            message = f"`{name}` must be an integer from {minimum} to {maximum}."
            raise RequestError(400, message, setting=name)
        settings[name] = value
    return settings


def _check_regions(wanted: object, frames: Sequence[object]) -> list[dict[str, Any]]:
    """Return checked rectangles with their frames instead of numbers."""
    if not (isinstance(wanted, list) and 1 <= len(wanted) <= MAX_REGIONS):
        raise RequestError(400, f"Learning needs 1 to {MAX_REGIONS} rectangles.", setting="regions")
    regions = []
    for number, region in enumerate(wanted, start=1):
        problem = _region_problem(region, len(frames))
        if problem:
            raise RequestError(400, f"Region {number} must {problem}.", setting="regions", region=number)
        regions.append(region | {which: frames[region[which]] for which in ("focused", "blurred")})
    return regions


def _region_problem(region: object, n_frames: int) -> str | None:
    """Return what a region must have and lacks."""
    if not isinstance(region, dict) or region.keys() != set(_REGION_KEYS):
        return f"have {', '.join(_REGION_KEYS)}"
    if any(type(value) is not int or value < 0 for value in region.values()):
        return "have integers from 0"
    if region["focused"] == region["blurred"] or max(region["focused"], region["blurred"]) >= n_frames:
        return f"name two different frames from 0 to {n_frames - 1}"
    return None


async def _atoms(request: Request) -> Response:
    app: App = request.app.state.app
    job = app.store.jobs.get(request.path_params["id"])
    path = app.store.jobs.folder(job.id) / ATOMS
    return await file_answer(path, "image/png", missing="There is no picture of the atoms yet.")


def _requested_dictionary(request: Request) -> tuple["App", str]:
    app, name = request.app.state.app, request.path_params["name"]
    if name not in app.store.dictionary_names():
        raise RequestError(404, f"There is no dictionary {name[:80]}.", got=name)
    return app, name


async def _download(request: Request) -> FileResponse:
    app, name = _requested_dictionary(request)
    return FileResponse(app.store.dictionary_file(name), filename=f"{name}.npz")


async def _remove(request: Request) -> Response:
    app, name = _requested_dictionary(request)
    if any(job.is_open and job.options.get("dictionary") == name for job in app.store.jobs.all()):
        message = f"A fusion that waits or runs uses the dictionary {name}. Cancel it first."
        raise RequestError(409, message, got=name)
    app.store.dictionary_file(name).unlink(missing_ok=True)
    app.send_dictionaries()
    return Response(status_code=204)


routes = [
    Route("/api/jobs/{id}/atoms.png", _atoms),
    Route("/api/dictionaries/{name}", _download),
    Route("/api/dictionaries/{name}", _remove, methods=["DELETE"]),
]

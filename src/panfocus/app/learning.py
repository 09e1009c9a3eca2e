"""Learning a dictionary from rectangles that were drawn on a registered pair, and what was learned."""

import re
import shlex
import shutil
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from panfocus.app.jobs import EXPORTS
from panfocus.app.responses import Refusal, small_file
from panfocus.app.tasks.learn import ATOMS
from panfocus.job.training_data import HELP

if TYPE_CHECKING:
    from panfocus.app.server import App

# Of `panfocus learn`: default, least and most. More would take hours, or more memory than there is.
SETTINGS = {
    "patch_size": (8, 2, 32),
    "atoms": (256, 1, 4096),
    "max_atoms": (5, 1, 64),
    "rounds": (10, 1, 1000),
    "samples": (30_000, 1, 1_000_000),
    "seed": (0, 0, 2**31 - 1),
}
MOST_REGIONS = 1000
_PLACE = ("top", "left", "height", "width")
_NAME = re.compile(r"\w[\w -]{0,59}")


def fields() -> list[dict[str, Any]]:
    """Describe the settings of learning, as forms.methods does those of methods."""
    return [
        {
            "name": name,
            "kind": "integer",
            "default": default,
            "min": least,
            "max": most,
            "help": HELP[name],
        }
        for name, (default, least, most) in SETTINGS.items()
    ]


def add_learning(app: "App", wanted: dict[str, Any]) -> dict[str, Any]:
    """Put the learning of a dictionary into the queue.

    Regions count the files of the stack that are fused; or, if a `job` is named, its aligned frames.
    """
    stack = app.store.stacks.get(str(wanted.get("stack")))
    name, settings = _name(app, wanted.get("name")), _settings(wanted.get("settings") or {})
    source = wanted.get("job")
    if source is not None:
        result = app.store.jobs.get(str(source))["result"]
        if not (result and "n_frames" in result):
            raise Refusal(409, "this job has no aligned frames yet")
        frames: list[Any] = list(range(result["n_frames"]))
    else:
        frames = [str(path) for path in app.stacks.paths(stack["id"])]
    regions = _regions(wanted.get("regions"), frames)
    folder = app.jobs.new_folder()
    path = folder / EXPORTS / "regions.toml"
    task = {
        "task": "learn",
        "folder": str(folder),
        "file": str(path),
        "frames_of": None if source is None else str(app.store.jobs.folder(source)),
        "regions": regions,
        "reads": frames if source is None else [],
        "settings": settings,
        "output": str(app.store.dictionary_file(name)),
    }
    try:
        added: dict[str, Any] = app.jobs.add(
            stack=stack["id"],
            kind="learn",
            name=name,
            options={"settings": settings, "regions": wanted["regions"]},
            command=learn_command(path.name, settings, f"{name}.npz"),
            task=task,
            learning={"objective": [], "atoms_version": 0},
        )
    except Exception:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return added


def learn_command(regions: str, settings: dict[str, int], output: str) -> str:
    """Write the command that learns the same, where the file of rectangles and its frames were saved."""
    words = ["panfocus", "learn", "--regions", regions]
    for name, value in settings.items():
        if value != SETTINGS[name][0]:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, "-o", output])


def _name(app: "App", given: object) -> str:
    from panfocus.dictionary.coupled import DEFAULT_NAMES

    name = given.strip() if isinstance(given, str) else ""
    if not _NAME.fullmatch(name):
        raise Refusal(400, "name: needed are up to 60 letters, digits, spaces, dashes and underscores")
    planned = [job["name"] for job in app.store.jobs.all() if job["kind"] == "learn" and _is_open(job)]
    taken = [*DEFAULT_NAMES, *app.store.dictionary_names(), *planned]
    # But for case: there are disks that take both names for one file.
    if other := next((each for each in taken if each.casefold() == name.casefold()), None):
        raise Refusal(409, f"there is a dictionary {other} already; choose another name")
    return name


def _is_open(job: dict[str, Any]) -> bool:
    return job["state"] in ("queued", "running")


def _settings(given: object) -> dict[str, int]:
    if not isinstance(given, dict) or not given.keys() <= SETTINGS.keys():
        raise Refusal(400, f"settings: known are {', '.join(SETTINGS)}")
    settings = {}
    for name, (default, least, most) in SETTINGS.items():
        value = given.get(name, default)
        if type(value) is not int or not least <= value <= most:
            raise Refusal(400, f"{name}: needed is a whole number from {least} to {most}")
        settings[name] = value
    return settings


def _regions(given: object, frames: list[Any]) -> list[dict[str, Any]]:
    """Check rectangles, and name their frames."""
    if not (isinstance(given, list) and 1 <= len(given) <= MOST_REGIONS):
        raise Refusal(400, f"regions: needed are 1 to {MOST_REGIONS} rectangles")
    regions = []
    for number, region in enumerate(given, start=1):
        if not isinstance(region, dict) or region.keys() != {"focused", "blurred", *_PLACE}:
            raise Refusal(400, f"region {number}: needed are focused, blurred, {', '.join(_PLACE)}")
        if any(type(value) is not int or value < 0 for value in region.values()):
            raise Refusal(400, f"region {number}: needed are whole numbers from 0")
        pair = region["focused"], region["blurred"]
        if pair[0] == pair[1] or max(pair) >= len(frames):
            raise Refusal(400, f"region {number}: needed are two different frames, 0 to {len(frames) - 1}")
        regions.append(region | {"focused": frames[pair[0]], "blurred": frames[pair[1]]})
    return regions


async def _atoms(request: Request) -> Response:
    app = request.app.state.app
    path = app.store.jobs.folder(app.store.jobs.get(request.path_params["id"])["id"]) / ATOMS
    return await small_file(path, "image/png", missing="there is no picture of atoms yet")


def _named(request: Request) -> tuple["App", str]:
    """Return the application, and the name of the learned dictionary that a request is about."""
    app, name = request.app.state.app, request.path_params["name"]
    if name not in app.store.dictionary_names():
        raise Refusal(404, f"there is no dictionary {name[:80]}")
    return app, name


async def _dictionary(request: Request) -> FileResponse:
    app, name = _named(request)
    return FileResponse(app.store.dictionary_file(name), filename=f"{name}.npz")


async def _remove(request: Request) -> Response:
    app, name = _named(request)
    if any(_is_open(job) and job["options"].get("dictionary") == name for job in app.store.jobs.all()):
        raise Refusal(409, f"a fusion that waits or runs uses the dictionary {name}; cancel it first")
    app.store.dictionary_file(name).unlink(missing_ok=True)
    app.tell_dictionaries()
    return Response(status_code=204)


routes = [
    Route("/api/jobs/{id}/atoms.png", _atoms),
    Route("/api/dictionaries/{name}", _dictionary),
    Route("/api/dictionaries/{name}", _remove, methods=["DELETE"]),
]

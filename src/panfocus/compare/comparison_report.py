"""The report of a comparison: `scores.csv` and `scores.json` for programs, `index.html` for people."""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from panfocus._progress import Progress, silent
from panfocus._threads import map_blocks
from panfocus.compare import pictures
from panfocus.compare.comparison import TIME, Conditions, Trial, TrialResult
from panfocus.compare.depth_errors import DESCRIPTIONS
from panfocus.compare.entries import Entry
from panfocus.compare.pictures import Picture, encode_error_map, encode_label_map, encode_photo
from panfocus.compare.scenes import Group, Scene
from panfocus.compare.scoring import GREY
from panfocus.compare.statistics import SIGNIFICANT, Scores, summarise
from panfocus.io.atomic_files import check_destination, make_folder, remove_temporaries, write_files
from panfocus.io.encode import encode_csv, encode_json
from panfocus.io.lock import lock_folder
from panfocus.io.read_stack import read_image
from panfocus.metrics import get_metric
from panfocus.metrics.catalogue import source_letters
from panfocus.show.document import fill, open_page, read_part

PAGE, TABLE, DATA = "index.html", "scores.csv", "scores.json"
_RESULTS = "results"


@dataclass(frozen=True)
class Comparison:
    """Groups, entries and conditions of a comparison, and its results."""

    groups: Sequence[Group]
    entries: Sequence[Entry]
    conditions: Conditions
    results: dict[tuple[str, str, str], TrialResult]  # by group, scene and entry

    @classmethod
    def of(
        cls,
        groups: Sequence[Group],
        entries: Sequence[Entry],
        conditions: Conditions,
        trials: Sequence[Trial],
        results: Sequence[TrialResult],
    ) -> "Comparison":
        """Combine the results with their trials."""
        keys = [(trial.scene.group, trial.scene.name, trial.entry.name) for trial in trials]
        return cls(groups, entries, conditions, dict(zip(keys, results, strict=True)))

    def result(self, scene: Scene, entry: Entry) -> TrialResult | None:
        """Return the result of an entry on a scene, or None."""
        return self.results.get((scene.group, scene.name, entry.name))

    @property
    def keys(self) -> list[str]:
        """Columns of the tables: the metrics, and the errors of depth and the time if known."""
        known = {key for result in self.results.values() for key in result.values}
        return [*self.conditions.metrics, *(key for key in (*DESCRIPTIONS, TIME) if key in known)]

    def list_scaled_results(self) -> list[str]:
        """Return a sentence for each entry whose results were converted to the depth of the frames."""
        scenes: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for (_, scene, entry), result in self.results.items():
            if result.scaled_from:
                scenes[entry, result.scaled_from].append(scene)
        return [
            f"Results of {entry} were converted from {dtype} to the depth of the frames (factor 257): "
            f"{', '.join(names)}."
            for (entry, dtype), names in scenes.items()
        ]

    def list_gaps(self) -> list[str]:
        """Return a sentence for each metric that has no value on any scene, which only pixels can tell."""
        lacking = {True: "a result and a reference in colour", False: "large enough images"}
        return [
            f"{key} has no value: no scene has {lacking[get_metric(key).colour]}."
            for key in self.conditions.metrics
            if not any(key in result.scores for result in self.results.values())
        ]

    def scores(self, group: Group, metric: str) -> Scores:
        """Return scores (scenes, entries); NaN means no score."""

        def score(scene: Scene, entry: Entry) -> float:
            result = self.result(scene, entry)
            return result.values.get(metric, np.nan) if result else np.nan

        return np.array([[score(scene, entry) for entry in self.entries] for scene in group.scenes])


@contextmanager
def report_folder(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """Lock the folder of a report and yield its folder for results; raise if it cannot be used."""
    make_folder(folder)
    with lock_folder(folder):
        for name in (PAGE, TABLE, DATA):
            check_destination(folder / name, force=force)
        _remove_temporaries(folder)  # left by a killed run
        try:
            yield folder / _RESULTS
        finally:
            _remove_temporaries(folder)  # left by terminated workers


def _remove_temporaries(folder: Path) -> None:
    remove_temporaries(folder)
    remove_temporaries(folder / _RESULTS, below=True)


def write_report(
    comparison: Comparison, folder: Path, *, force: bool = False, progress: Progress = silent
) -> None:
    """Write table, data and page into a folder, all or none."""
    data = _plain_data(comparison)
    rows = [
        (*key, metric, value)
        for key, result in comparison.results.items()
        for metric, value in result.scores.items()
    ]
    write_files(
        {
            folder / TABLE: encode_csv(("group", "scene", "method", "metric", "value"), rows),
            folder / DATA: encode_json(data),
            folder / PAGE: _page(comparison, data, progress),
        },
        force=force,
    )


def _plain_data(comparison: Comparison) -> dict[str, Any]:
    conditions = comparison.conditions
    return {
        "panfocus": version("panfocus"),
        "grey": GREY,
        "crop": conditions.crop,
        "jpeg": conditions.jpeg,
        "data_range": conditions.data_range,
        "notices": comparison.list_scaled_results(),
        "methods": {entry.name: entry.about for entry in comparison.entries},
        "metrics": {key: _description(key) for key in comparison.keys},
        "significant": SIGNIFICANT,
        "groups": [_group_data(comparison, group) for group in comparison.groups],
    }


def _description(key: str) -> dict[str, str]:
    if key == TIME:
        return {
            "title": "Seconds per megapixel",
            "kind": "time",
            "better": "smaller",
            "says": "time of the fusion on this machine, while other trials run",
        }
    if key in DESCRIPTIONS:
        return DESCRIPTIONS[key] | {"kind": "depth", "better": "smaller"}
    metric = get_metric(key)
    return {"title": metric.title, "kind": metric.kind, "better": metric.better, "says": metric.summary}


def _group_data(comparison: Comparison, group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "summary": {
            key: _summary(comparison, group, key)
            for key in comparison.keys
            if not np.isnan(comparison.scores(group, key)).all()
        },
        "scenes": [
            {
                "name": scene.name,
                "sources": [path.name for path in scene.sources],
                "reference": scene.reference.name if scene.reference else None,
                "scores": {
                    entry.name: {key: _finite_or_none(value) for key, value in result.values.items()}
                    for entry in comparison.entries
                    if (result := comparison.result(scene, entry))
                },
            }
            for scene in group.scenes
        ],
    }


def _summary(comparison: Comparison, group: Group, key: str) -> dict[str, Any]:
    summary = summarise(
        comparison.scores(group, key), larger_is_better=_description(key)["better"] == "larger"
    )
    names = [entry.name for entry in comparison.entries]
    return {
        name: {
            "n": int(summary.n[i]),
            "mean": _finite_or_none(summary.mean[i]),
            "rank": _finite_or_none(summary.rank[i]),
            "rank_n": summary.rank_n,
            "best": bool(summary.best[i]),
            "proven": bool(summary.best[i] and summary.proven),
            "against": {
                other: {"p": float(summary.p[j, i]), "better": bool(summary.ahead[j, i])}
                for j, other in enumerate(names)
                if not np.isnan(summary.p[j, i])
            },
        }
        for i, name in enumerate(names)
        if summary.n[i]
    }


def _finite_or_none(value: float) -> float | None:
    """Return None for infinite and undefined values, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def _page(comparison: Comparison, data: dict[str, Any], progress: Progress) -> Iterator[bytes]:
    """Yield the page in pieces, so that only the images of a few scenes are in memory."""
    script = read_part("panfocus.compare", "page.js")
    n_frames = {len(scene.sources) for group in comparison.groups for scene in group.scenes}
    shown = data | {
        "method_colours": pictures.COLOURS,
        "error_limit": pictures.ERROR_LIMIT,
        "error_colours": pictures.ramp(9),
        "label_colours": {str(n): pictures.label_colours(n) for n in n_frames},
    }
    page = fill(open_page("panfocus.compare", script=script), script=script, data=_encode_inline(shown))
    head, tail = page.split("{{ pictures }}")
    yield head.encode()
    scenes = [
        (f"pictures-{i}-{j}", scene)
        for i, group in enumerate(comparison.groups)
        for j, scene in enumerate(group.scenes)
    ]

    def block(item: tuple[str, Scene]) -> bytes:
        identity, scene = item
        shown = list(_scene_pictures(comparison, scene))
        return f'<script type="application/json" id="{identity}">{_encode_inline(shown)}</script>\n'.encode()

    for done, piece in enumerate(map_blocks(block, scenes), start=1):
        yield piece
        progress("page", done / len(scenes))
    yield tail.encode()


def _scene_pictures(comparison: Comparison, scene: Scene) -> Iterator[dict[str, Any]]:
    """Yield all images of a scene."""
    white, crop = comparison.conditions.data_range, comparison.conditions.crop
    for i, path in enumerate(scene.sources):
        yield _embed("source", source_letters(i), encode_photo(read_image(path), white))
    reference = read_image(scene.reference) if scene.reference else None
    if reference is not None:
        yield _embed("reference", "reference", encode_photo(reference, white))
    for entry in comparison.entries:
        result = comparison.result(scene, entry)
        if result is None:
            continue
        image = read_image(result.image)
        yield _embed("result", entry.name, encode_photo(image, white))
        if result.labels:
            labels = read_image(result.labels)
            yield _embed("labels", entry.name, encode_label_map(labels, len(scene.sources)))
        if reference is not None:
            # Cropped border as a share of the image: top and bottom, left and right.
            border = [crop / image.shape[0], crop / image.shape[1]]
            yield _embed("error", entry.name, encode_error_map(image, reference, white)) | {"border": border}


def _embed(kind: str, title: str, picture: Picture) -> dict[str, Any]:
    return {
        "kind": kind,
        "method": kind in ("result", "labels", "error"),
        "title": title,
        "width": picture.width,
        "height": picture.height,
        "address": picture.address,
    }


def _encode_inline(data: object) -> str:
    """Encode data so that it cannot close the script element that contains it."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")

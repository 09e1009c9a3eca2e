"""The comparison as files: `scores.csv` and `scores.json` for programs, `index.html` for people."""

import base64
import csv
import io
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
from panfocus.compare.comparison import Conditions, Job, Outcome
from panfocus.compare.entries import Entry
from panfocus.compare.pictures import Picture, decision_map, error_map, photograph
from panfocus.compare.scenes import Group, Scene
from panfocus.compare.scoring import GREY
from panfocus.compare.statistics import SIGNIFICANT, Scores, summarise
from panfocus.io.atomic_files import check_destination, make_folder, remove_temporaries, write_files
from panfocus.io.encode import encode_json
from panfocus.io.lock import lock_folder
from panfocus.io.read_stack import read_image
from panfocus.metrics import get_metric
from panfocus.metrics.catalogue import source_letters
from panfocus.show.document import fill, open_page, read_part

PAGE, TABLE, DATA = "index.html", "scores.csv", "scores.json"
_RESULTS = "results"
TIME = "s/MP"  # beside the scores, on the page and in the JSON: it is another in every run


@dataclass(frozen=True)
class Comparison:
    """What was compared, and what came of it."""

    groups: Sequence[Group]
    entries: Sequence[Entry]
    conditions: Conditions
    outcomes: dict[tuple[str, str, str], Outcome]  # by the names of group, scene and entry

    @classmethod
    def of(
        cls,
        groups: Sequence[Group],
        entries: Sequence[Entry],
        conditions: Conditions,
        jobs: Sequence[Job],
        outcomes: Sequence[Outcome],
    ) -> "Comparison":
        """Put outcomes beside what they belong to."""
        keys = [(job.group, job.scene.name, job.entry.name) for job in jobs]
        return cls(groups, entries, conditions, dict(zip(keys, outcomes, strict=True)))

    def outcome(self, group: Group, scene: Scene, entry: Entry) -> Outcome | None:
        """Return what an entry came to on a scene; None where it has no result."""
        return self.outcomes.get((group.name, scene.name, entry.name))

    def has(self, metric: str) -> bool:
        """Tell whether there is any score by a metric."""
        return any(metric in outcome.scores for outcome in self.outcomes.values())

    @property
    def keys(self) -> list[str]:
        """What the tables show: the metrics, and the time where a method of ours took it."""
        timed = any(TIME in shown_values(outcome) for outcome in self.outcomes.values())
        return [*self.conditions.metrics, *([TIME] if timed else [])]

    def scaled_results(self) -> list[str]:
        """Say in sentences which results were brought to the depth of the frames."""
        scenes: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for (_, scene, entry), outcome in self.outcomes.items():
            if outcome.scaled_from:
                scenes[entry, outcome.scaled_from].append(scene)
        return [
            f"{entry} is {dtype} on {', '.join(names)}, and was brought to the frames' depth (factor 257)."
            for (entry, dtype), names in scenes.items()
        ]

    def scores(self, group: Group, metric: str) -> Scores:
        """Return scores (scenes, entries), NaN where there is none."""
        return np.array(
            [
                [
                    shown_values(outcome).get(metric, np.nan)
                    if (outcome := self.outcome(group, scene, entry))
                    else np.nan
                    for entry in self.entries
                ]
                for scene in group.scenes
            ]
        )


def shown_values(outcome: Outcome) -> dict[str, float]:
    """Return the scores, and the time where it is known."""
    cost = outcome.seconds_per_megapixel
    return outcome.scores | ({} if cost is None else {TIME: cost})


@contextmanager
def report_folder(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """Make the folder of a report one's own, or refuse it before any work; yields that of the results."""
    make_folder(folder)
    with lock_folder(folder):
        for name in (PAGE, TABLE, DATA):
            check_destination(folder / name, force=force)
        _remove_temporaries(folder)  # of a run that was killed
        try:
            yield folder / _RESULTS
        finally:
            _remove_temporaries(folder)  # of workers that were ended


def _remove_temporaries(folder: Path) -> None:
    remove_temporaries(folder)
    remove_temporaries(folder / _RESULTS, below=True)


def write_report(
    comparison: Comparison, folder: Path, *, force: bool = False, progress: Progress = silent
) -> None:
    """Write table, data and page into a folder, all of them or none."""
    data = _plain_data(comparison)
    write_files(
        {
            folder / TABLE: _table(comparison),
            folder / DATA: encode_json(data),
            folder / PAGE: _page(comparison, data, progress),
        },
        force=force,
    )


def _table(comparison: Comparison) -> bytes:
    """One row per score, so that spreadsheets and data frames can turn it as they like."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("group", "scene", "method", "metric", "value"))
    for (group, scene, entry), outcome in comparison.outcomes.items():
        writer.writerows((group, scene, entry, metric, value) for metric, value in outcome.scores.items())
    return text.getvalue().encode()


def _plain_data(comparison: Comparison) -> dict[str, Any]:
    conditions = comparison.conditions
    return {
        "panfocus": version("panfocus"),
        "grey": GREY,
        "crop": conditions.crop,
        "jpeg": conditions.jpeg,
        "data_range": conditions.data_range,
        "notices": comparison.scaled_results(),
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
            "says": "time of the fusion alone, on this machine, beside the other work of the comparison",
        }
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
                    entry.name: {key: _finite(value) for key, value in shown_values(outcome).items()}
                    for entry in comparison.entries
                    if (outcome := comparison.outcome(group, scene, entry))
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
            "mean": _finite(summary.mean[i]),
            "rank": _finite(summary.rank[i]),
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


def _finite(value: float) -> float | None:
    """JSON has no word for infinity, the PSNR of equal pictures, nor for what is not defined."""
    return float(value) if math.isfinite(value) else None


def _page(comparison: Comparison, data: dict[str, Any], progress: Progress) -> Iterator[bytes]:
    """Yield the page in pieces, so that only the pictures of a few scenes are in memory at once."""
    script = read_part("panfocus.compare", "page.js")
    shown = data | {
        "method_colours": pictures.COLOURS,
        "error_limit": pictures.ERROR_LIMIT,
        "error_colours": pictures.ramp(9),
        "label_colours": {str(n): pictures.label_colours(n) for n in _frame_counts(comparison)},
    }
    page = fill(open_page("panfocus.compare", script=script), script=script, data=_inert(shown))
    head, tail = page.split("{{ pictures }}")
    yield head.encode()
    scenes = [
        (f"pictures-{i}-{j}", group, scene)
        for i, group in enumerate(comparison.groups)
        for j, scene in enumerate(group.scenes)
    ]

    def block(item: tuple[str, Group, Scene]) -> bytes:
        identity, group, scene = item
        shown = list(_scene_pictures(comparison, group, scene))
        return f'<script type="application/json" id="{identity}">{_inert(shown)}</script>\n'.encode()

    for done, piece in enumerate(map_blocks(block, scenes), start=1):
        yield piece
        progress("page", done / len(scenes))
    yield tail.encode()


def _scene_pictures(comparison: Comparison, group: Group, scene: Scene) -> Iterator[dict[str, Any]]:
    """Yield all that is shown of a scene."""
    white, crop = comparison.conditions.data_range, comparison.conditions.crop
    for i, path in enumerate(scene.sources):
        yield _embedded("source", source_letters(i), photograph(read_image(path), white))
    reference = read_image(scene.reference) if scene.reference else None
    if reference is not None:
        yield _embedded("reference", "reference", photograph(reference, white))
    for entry in comparison.entries:
        outcome = comparison.outcome(group, scene, entry)
        if outcome is None:
            continue
        image = read_image(outcome.image)
        yield _embedded("result", entry.name, photograph(image, white))
        if outcome.labels:
            labels = read_image(outcome.labels)
            yield _embedded("labels", entry.name, decision_map(labels, len(scene.sources)))
        if reference is not None:
            # What the crop leaves out, as shares of the picture: top and bottom, left and right.
            border = [crop / image.shape[0], crop / image.shape[1]]
            yield _embedded("error", entry.name, error_map(image, reference, white)) | {"border": border}


def _embedded(kind: str, title: str, picture: Picture) -> dict[str, Any]:
    address = f"data:image/webp;base64,{base64.b64encode(picture.webp).decode()}"
    return {
        "kind": kind,
        "method": kind in ("result", "labels", "error"),
        "title": title,
        "width": picture.width,
        "height": picture.height,
        "address": address,
    }


def _frame_counts(comparison: Comparison) -> set[int]:
    return {len(scene.sources) for group in comparison.groups for scene in group.scenes}


def _inert(data: object) -> str:
    """Encode data so that nothing in it can end the script element that it stands in."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")

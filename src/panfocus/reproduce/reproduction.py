"""Run the whole reproduction and write its report.

The report has `index.html` for people, `numbers.csv` and `numbers.json` for programs.
"""

import sys
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from panfocus._progress import Progress, silent
from panfocus.io.atomic_files import check_destination, make_folder, trial_folder, write_files
from panfocus.io.encode import encode_csv, encode_json
from panfocus.reproduce import (
    claims,
    dictionaries,
    draws,
    equations,
    fused_images,
    masks,
    noise,
    parameters,
    plots,
    tables,
    training,
    variants,
)
from panfocus.reproduce.claims import Claim, Evidence
from panfocus.reproduce.elements import Section, escape, paragraph, tag
from panfocus.reproduce.image_sets import read_inputs
from panfocus.reproduce.paper import PAPER, Experiment
from panfocus.show.document import fill, open_page

PAGE, TABLE, DATA = "index.html", "numbers.csv", "numbers.json"


@dataclass(frozen=True)
class Reproduction:
    """Measurements, sections of the page, judged claims, and cost."""

    evidence: Evidence
    sections: list[Section]
    claims: list[Claim]
    seconds: float
    peak_memory: int | None  # bytes of this process; None if unknown


def reproduce(data: Path, *, experiment: Experiment = PAPER, progress: Progress = silent) -> Reproduction:
    """Compute all tables and figures of the paper from the image sets in a folder."""
    start = time.perf_counter()
    plots.check_matplotlib()
    inputs = read_inputs(data)
    patches = equations.label_patches(
        inputs.held_out, size=experiment.patch_size, stride=experiment.label_stride
    )

    pairs = training.find_training_pairs(inputs.training, [*inputs.lytro, *inputs.grey, *inputs.colour])
    learned = dictionaries.learn_dictionaries(inputs.training, experiment, progress)
    methods = dictionaries.build_methods(learned, experiment)
    grey = tables.fuse_all(tables.GREY_TABLE, inputs.grey, methods, progress)
    colour = tables.fuse_all(tables.COLOUR_TABLE, inputs.colour, methods, progress)
    sweep = parameters.run_sweep(inputs.grey, learned, experiment, progress)
    found = Evidence(
        experiment,
        grey,
        colour,
        variants=variants.run_variants(grey, progress),
        masks=masks.make_masks(inputs.lytro, patches, learned, methods, progress),
        reconstructions=fused_images.reconstruct(grey, progress),
        sweep=sweep,
        curves=parameters.compute_curves(sweep, experiment),
        draws=draws.run_draws(grey, colour, learned, progress),
        findings=equations.examine(patches, learned, experiment, progress),
        noise=noise.run_noise(inputs.held_out, grey, experiment, progress),
    )
    judged = claims.judge(found)

    progress("figures", 0.0)
    sections = [
        claims.section(judged),
        tables.section(grey),
        tables.section(colour),
        variants.section(found.variants),
        plots.diagram_section(),
        training.section(pairs, [*grey.sets, *colour.sets]),
        fused_images.source_section(grey, colour),
        dictionaries.section(learned, experiment),
        parameters.coupling_section(sweep),
        draws.section(found.draws),
        masks.section(found.masks, training.training_scenes(pairs)),
        fused_images.fused_section(grey, colour, found.reconstructions),
        fused_images.reconstruction_section(found.reconstructions),
        parameters.curve_section(found.curves, sweep),
        equations.section(found.findings),
        noise.section(found.noise),
    ]
    progress("figures", 1.0)
    return Reproduction(found, sections, judged, time.perf_counter() - start, _peak_memory())


def _peak_memory() -> int | None:
    """Return the peak memory of this process in bytes."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def check_report(folder: Path, *, force: bool = False) -> None:
    """Raise if a folder cannot be written or contains a report, unless `force` is set."""
    with trial_folder(folder):
        for name in (PAGE, TABLE, DATA):
            check_destination(folder / name, force=force)


def write_report(reproduction: Reproduction, folder: Path, *, force: bool = False) -> None:
    """Write page and numbers into a folder, all or none. The folder is created if needed."""
    make_folder(folder)
    numbers = [
        {"part": section.identity, **asdict(number)}
        for section in reproduction.sections
        for number in section.numbers
    ]
    write_files(
        {
            folder / TABLE: encode_csv(numbers[0], (number.values() for number in numbers)),
            folder / DATA: encode_json(
                {
                    "panfocus": version("panfocus"),
                    "settings": asdict(reproduction.evidence.experiment),
                    "seconds": round(reproduction.seconds, 1),
                    "peak_memory": reproduction.peak_memory,
                    "claims": [asdict(claim) for claim in reproduction.claims],
                    "numbers": numbers,
                }
            ),
            folder / PAGE: _page(reproduction).encode(),
        },
        force=force,
    )


def describe_cost(reproduction: Reproduction) -> str:
    """Return a text with the time and the peak memory."""
    minutes, seconds = divmod(round(reproduction.seconds), 60)
    memory = reproduction.peak_memory
    return f"{minutes} min {seconds} s" + (f", at most {memory / 1e6:,.0f} MB of memory" if memory else "")


def _page(reproduction: Reproduction) -> str:
    verdicts = [claim.verdict for claim in reproduction.claims]
    counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    return fill(
        open_page("panfocus.reproduce"),
        summary=paragraph(
            f"Of {len(verdicts)} claims: {counted}. Made by panfocus {version('panfocus')} in "
            f"{describe_cost(reproduction)}."
        ),
        contents="".join(
            tag("a", escape(section.title), href=f"#{section.anchor}") for section in reproduction.sections
        ),
        sections="\n".join(
            tag("section", tag("h2", escape(section.title)), section.body, id=section.anchor)
            for section in reproduction.sections
        ),
    )

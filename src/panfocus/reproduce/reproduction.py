"""Everything in order: read, learn, fuse, judge."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from panfocus._progress import Progress, silent
from panfocus.reproduce import (
    claims,
    coupled_or_separate,
    diagram,
    dictionaries,
    draws,
    equations,
    fused,
    masks,
    parameters,
    reconstruction,
    tables,
    training,
    variants,
)
from panfocus.reproduce.claims import Claim, Evidence
from panfocus.reproduce.elements import Section
from panfocus.reproduce.paper import TABLE_1, TABLE_2
from panfocus.reproduce.plots import check_matplotlib
from panfocus.reproduce.rivals import methods_of_the_paper
from panfocus.reproduce.sets import read_inputs
from panfocus.reproduce.settings import PAPER, Plan
from panfocus.reproduce.sweep import run_sweep


@dataclass(frozen=True)
class Reproduction:
    """What was measured, how it is shown and judged, and what it cost."""

    evidence: Evidence
    sections: list[Section]
    claims: list[Claim]
    seconds: float
    peak_memory: int | None  # bytes of this process; None where the system does not tell


def reproduce(data: Path, *, plan: Plan = PAPER, progress: Progress = silent) -> Reproduction:
    """Compute all tables and figures of the paper from the image sets in a folder."""
    began = time.perf_counter()
    check_matplotlib()  # whatever is missing, data or library, is said at once
    inputs = read_inputs(data)
    patches = equations.label_patches(inputs.held_out, size=plan.patch_size, stride=plan.label_stride)

    pairs = training.find_training_pairs(inputs.training, [*inputs.lytro, *inputs.grey, *inputs.colour])

    learned = dictionaries.learn_dictionaries(*inputs.crops, plan, progress)
    methods = methods_of_the_paper(learned, plan)

    grey = tables.fuse_all(inputs.grey, methods, TABLE_1, "table 1", progress)
    colour = tables.fuse_all(inputs.colour, methods, TABLE_2, "table 2", progress)
    tried = variants.run_variants(grey, methods, progress)
    made_masks = masks.make_masks(inputs.masks, patches, learned, methods, progress)
    reconstructions = reconstruction.reconstruct(grey, progress)
    sweep = run_sweep(inputs.grey, learned, plan, progress)
    drawn = draws.run_draws(grey, colour, learned, methods, progress)
    curves = parameters.draw_curves(sweep, plan)
    findings = equations.examine(patches, learned, plan, progress)
    evidence = Evidence(
        plan, grey, colour, tried, drawn, sweep, curves, made_masks, reconstructions, findings
    )
    judged = claims.judge(evidence)

    progress("figures", 0.0)
    sections = [
        claims.section(judged),
        tables.section_1(grey),
        tables.section_2(colour),
        variants.section(tried),
        diagram.section(),
        training.section(pairs, [*grey.sets, *colour.sets]),
        dictionaries.section(learned, plan),
        coupled_or_separate.section(sweep, plan),
        draws.section(drawn),
        masks.section(made_masks, training.trained_on(pairs)),
        fused.section(grey, colour, reconstructions),
        reconstruction.section(reconstructions),
        parameters.section(curves, sweep),
        equations.section(findings),
    ]
    progress("figures", 1.0)
    return Reproduction(evidence, sections, judged, time.perf_counter() - began, peak_memory())


def peak_memory() -> int | None:
    """Return the most memory that this process has held, in bytes."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak

"""Forecast for 10,000 stacks and a slide of 100,000 x 100,000 x 50 on a cluster, by the model."""

from collections.abc import Sequence

from benchmarks._costs import StackCost, StoreCost, in_tasks
from benchmarks.cluster_model import Cluster, Stage, predict
from panfocus.tiled_store.tile_plan import LEVELS_PER_TASK, SEARCH_SIDE

N_STACKS = 10_000
SIDE, SLICES, BYTES = 100_000, 50, 2  # size of the slide; bytes per value
CHUNK = 1024  # side of the chunks of the slide in pixels
MEMORY_OF_SLIDE = 4_200_000_000  # bytes per worker
WORKERS = (1, 8, 64, 512)
BANDWIDTH = 1.25e9  # bytes per second of the store: a network of 10 Gbit/s
START = 10.0  # seconds; more than measured on one machine with a local disk
HALVED = 512 << LEVELS_PER_TASK  # side in pixels of the area that one task downsamples


def stages_of_stacks(cost: StackCost) -> list[Stage]:
    """Return the stages of 10,000 such stacks: 8-bit colour, uncompressed TIFF in, PNG out."""
    frame = 3e6 * cost.megapixels
    return [
        Stage(
            N_STACKS,
            cost.read,
            cost.compute,
            cost.write,
            bytes_read=N_STACKS * cost.frames * frame,
            bytes_written=N_STACKS * 0.6 * frame,  # PNG of photographs: docs/performance.md
        )
    ]


def stages_of_slide(cost: StoreCost) -> list[Stage]:
    """Scale the stages of a part to the slide, which has more tiles of the same size."""
    span, look, measure, fuse, halve = cost.stages
    of_part, of_slide = cost.megapixels, SIDE**2 / 1e6
    n_tiles, n_looks, n_halvings = (parts(side) for side in (cost.tile, SEARCH_SIDE, HALVED))
    with_halo = (cost.tile + 2 * cost.halo) ** 2 / 1e6
    pixels = SIDE**2 * BYTES
    # A row of chunks is read of the first slice, then of every slice; a small part is read completely.
    row = (SIDE // CHUNK + 1) * CHUNK**2 / 1e6
    of_row = row / of_part
    row_bytes = row * 1e6 * BYTES
    return [
        in_tasks(span, 1, of_row, bytes_read=row_bytes),
        in_tasks(measure, 1, of_row, bytes_read=row_bytes * SLICES),
        in_tasks(look, n_looks, of_slide / n_looks / (of_part / look.tasks), bytes_read=pixels * SLICES),
        in_tasks(
            fuse,
            n_tiles,
            with_halo / (cost.megapixels_with_halo / fuse.tasks),
            bytes_read=n_tiles * chunks_touched(cost.tile, cost.halo) * CHUNK**2 * BYTES * SLICES,
            bytes_written=pixels,
        ),
        in_tasks(
            halve,
            n_halvings,
            of_slide / n_halvings / (of_part / halve.tasks),
            bytes_read=pixels * 4 / 3,
            bytes_written=pixels / 3,
        ),
    ]


def parts(side: int) -> int:
    """Return the number of squares of this side in the slide."""
    return (-(-SIDE // side)) ** 2


def chunks_touched(tile: int, halo: int) -> int:
    """Return the number of chunks that a tile with its halo touches, inside the slide."""
    first, last = (4 * tile - halo) // CHUNK, (5 * tile + halo - 1) // CHUNK
    return (last - first + 1) ** 2


def show(stack: StackCost, part: StoreCost, per_task: float, per_tile: float) -> None:
    """Print both forecasts, given the scheduling seconds per task and per tile."""
    print(f"slide: tiles of {part.tile}, halo {part.halo}, chunks {chunks_touched(part.tile, part.halo)}")
    stacks = f"{N_STACKS:,} stacks of {stack.frames} x {stack.megapixels:.0f} MP"
    table(stacks, stages_of_stacks(stack), 0.0, per_task)
    table(f"{SIDE:,} x {SIDE:,} x {SLICES}", stages_of_slide(part), part.client, per_tile)


def table(name: str, stages: Sequence[Stage], client: float, per_task: float) -> None:
    """Print one line per cluster size."""
    hours = sum(stage.tasks * stage.seconds for stage in stages) / 3600
    read, written = (sum(getattr(stage, of) for stage in stages) for of in ("bytes_read", "bytes_written"))
    print(
        f"{name}: {sum(stage.tasks for stage in stages):,} tasks, {hours:,.0f} hours of a core, "
        f"{read / 1e12:.1f} TB read, {written / 1e12:.2f} TB written; client {client:.0f} s"
    )
    for workers in WORKERS:
        found = predict(stages, Cluster(workers, workers, per_task, BANDWIDTH, START), client=client)
        rate = (read + written) / found.seconds
        tasks = sum(stage.tasks for stage in stages) / found.seconds
        print(
            f"| {workers} | {found.seconds / 3600:,.1f} h | {found.share:.0%} | {rate / 1e6:,.0f} MB/s "
            f"| {tasks:.2f} | {found.limit} |"
        )

"""Read mutated image files: each must give an image or one clear error, in bounded time and memory.

Worker processes with limited memory make and read the mutants. A crash, a hang or too much memory ends a
worker and counts as a failure of its current mutant.
"""

import argparse
import logging
import multiprocessing as mp
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from soak.seeds import seed_files

SECONDS = 10.0  # limit per mutant; the seed files are decoded in milliseconds
MEMORY = 1 << 30  # bytes that a worker may use in addition to its start-up memory
INTERESTING = (0, 1, 2, 3, 7, 8, 16, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 10**5, 2**31 - 1, 2**31)


@dataclass
class Outcome:
    """Counts of results."""

    decoded: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, 0)  # seconds, mutant

    @property
    def total(self) -> int:
        """Number of mutants that were read."""
        return self.decoded + self.refused + len(self.failures)


def mutate(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Damage a file by one to three random mutations."""
    for _ in range(rng.integers(1, 4)):
        data = MUTATIONS[rng.integers(len(MUTATIONS))](data or b"\0", other, rng)
    return data


def _flip_bits(data: bytes, _: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for place in rng.integers(0, len(data), rng.integers(1, 9)):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _flip_header_bits(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    return _flip_bits(data[:128], other, rng) + data[128:]


def _cut(data: bytes, _: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(0, len(data))]


def _splice(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    start, length = rng.integers(0, len(other)), rng.integers(1, 200)
    place = rng.integers(0, len(data))
    return data[:place] + other[start : start + length] + data[place + length * int(rng.integers(2)) :]


def _repeat(data: bytes, _: bytes, rng: np.random.Generator) -> bytes:
    start, length = rng.integers(0, len(data)), rng.integers(1, 100)
    return (
        data[: start + length]
        + data[start : start + length] * int(rng.integers(1, 20))
        + data[start + length :]
    )


def _remove(data: bytes, _: bytes, rng: np.random.Generator) -> bytes:
    start = rng.integers(0, len(data))
    return data[:start] + data[start + rng.integers(1, 50) :]


def _set_number(data: bytes, _: bytes, rng: np.random.Generator) -> bytes:
    """Write a number at which lengths, counts and offsets often overflow."""
    value = int(rng.choice(INTERESTING)) if rng.integers(2) else int(rng.integers(0, 2 * len(data)))
    size = int(rng.choice([1, 2, 4, 8]))
    number = (value % (1 << 8 * size)).to_bytes(size, ["big", "little"][rng.integers(2)])
    place = rng.integers(0, min(len(data), 400) if rng.integers(2) else len(data))
    return data[:place] + number + data[place + size :]


MUTATIONS = (_flip_bits, _flip_header_bits, _cut, _splice, _repeat, _remove, _set_number, _set_number)


def mutant(number: int, seed: int) -> tuple[str, bytes]:
    """Return the name of the seed file and the mutant of a number; equal arguments give the same mutant."""
    seeds = seed_files()
    names = sorted(seeds)
    rng = np.random.default_rng((seed, number))
    name = names[number % len(names)]
    return name, mutate(seeds[name], seeds[names[rng.integers(len(names))]], rng)


def run(count: int, *, seed: int = 0, workers: int = 1) -> Outcome:
    """Read `count` mutants and count the results."""
    outcome = Outcome()
    for number, verdict, seconds in _verdicts(count, seed, workers):
        outcome.slowest = max(outcome.slowest, (seconds, number))
        if verdict == "decoded":
            outcome.decoded += 1
        elif verdict.startswith("refused"):
            outcome.refused += 1
            outcome.kinds[verdict] += 1
        else:
            outcome.failures.append(f"mutant {number} of seed {seed} ({mutant(number, seed)[0]}): {verdict}")
    return outcome


def _verdicts(count: int, seed: int, workers: int) -> Iterator[tuple[int, str, float]]:
    context = mp.get_context("spawn")
    results = context.SimpleQueue()
    shares = [list(range(w, count, workers)) for w in range(workers)]
    running: dict[int, tuple[mp.process.BaseProcess, list[int], float]] = {}

    def start(worker: int, numbers: list[int]) -> None:
        if numbers:
            process = context.Process(target=_work, args=(worker, numbers, seed, results), daemon=True)
            process.start()
            running[worker] = (process, numbers, time.monotonic() + 60)  # to begin

    for worker, share in enumerate(shares):
        start(worker, share)
    while running:
        while not results.empty():
            worker, number, verdict, seconds = results.get()
            process, numbers, _ = running[worker]
            running[worker] = (process, numbers[1:], time.monotonic())
            yield number, verdict, seconds
        for worker, (process, numbers, since) in list(running.items()):
            late = time.monotonic() - since > SECONDS
            if numbers and process.is_alive() and not late:
                continue
            if not results.empty():
                break
            del running[worker]
            if process.is_alive() and numbers:
                process.kill()
            process.join()
            if numbers:
                yield numbers[0], "hung" if late else f"crashed, exit code {process.exitcode}", SECONDS
                start(worker, numbers[1:])
        time.sleep(0.005)


def _work(worker: int, numbers: list[int], seed: int, results: Any) -> None:
    logging.disable()
    warnings.simplefilter("ignore")
    _warm_up()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            name, data = mutant(number, seed)
            path = Path(folder, name)
            path.write_bytes(data)
            began = time.perf_counter()
            results.put((worker, number, read_verdict(path), time.perf_counter() - began))


def _warm_up() -> None:
    """Read every seed file, so that memory that decoders allocate once is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in seed_files().items():
            path = Path(folder, name)
            path.write_bytes(data)
            if (verdict := read_verdict(path)) != "decoded":
                raise RuntimeError(f"The seed file {name} failed: {verdict}")


def read_verdict(path: Path) -> str:
    """Read every frame of a file. Return "decoded", "refused: REASON", or the failure of the reader."""
    from panfocus.errors import PanfocusError
    from panfocus.io.headers import read_headers
    from panfocus.io.read_stack import read_image, read_stack

    try:
        if len(read_headers([path])) > 1:
            read_stack([path])
        else:
            read_image(path)
    except PanfocusError as error:
        text = str(error)
        if not text.startswith(str(path)) or "\n" in text.strip():
            return f"unclear: {text!r}"
        return f"refused: {text.removeprefix(str(path)).lstrip(': ').partition('(')[0].strip()[:60]}"
    except BaseException as error:  # everything else is a failure
        return f"{type(error).__name__}: {error}"
    return "decoded"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    began = time.perf_counter()
    outcome = run(given.count, seed=given.seed, workers=given.workers)
    for failure in outcome.failures:
        print(failure)
    for kind, n in outcome.kinds.most_common(12):
        print(f"  {n:6} {kind}")
    print(
        f"{outcome.total} mutants in {time.perf_counter() - began:.0f} s: {outcome.decoded} decoded, "
        f"{outcome.refused} refused, {len(outcome.failures)} failures; "
        f"slowest {outcome.slowest[0]:.2f} s (mutant {outcome.slowest[1]})"
    )
    sys.exit(1 if outcome.failures else 0)


if __name__ == "__main__":
    main()

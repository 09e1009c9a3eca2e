"""A short form of `make soak`: a few hundred mutants, and tests that failures of a reader are found."""

import sys

import numpy as np
import pytest
from soak import fuzz
from soak.seeds import seed_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the memory limits of Linux")


def test_mutated_files_are_decoded_or_refused_in_one_line():
    outcome = fuzz.run(600, seed=20260101)
    assert outcome.failures == []
    assert outcome.total == 600
    assert min(outcome.decoded, outcome.refused) > 60  # else they would test little


def test_mutants_are_reproducible_and_mostly_differ_from_the_seed_file():
    mutants = [fuzz.mutant(number, 5) for number in range(100)]
    assert mutants == [fuzz.mutant(number, 5) for number in range(100)]
    assert sum(data != seed_files()[name] for name, data in mutants) > 95


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ValueError("odd"), "ValueError: odd"),
        (MemoryError(), "MemoryError: "),
        (RecursionError(), "RecursionError: "),
    ],
)
def test_other_exceptions_of_the_reader_are_failures(tmp_path, monkeypatch, error, verdict):
    def read_headers(paths):
        raise error

    monkeypatch.setattr("panfocus.io.headers.read_headers", read_headers)
    assert fuzz.read_verdict(tmp_path / "x.png") == verdict


def end(worker, numbers, seed, results):
    results.put((worker, numbers[0], "decoded", 0.0))
    sys.exit(0 if len(numbers) == 1 else 7)


def test_a_crashed_worker_is_a_failure_of_its_mutant_and_replaced(monkeypatch):
    monkeypatch.setattr(fuzz, "_work", end)
    verdicts = [(number, verdict) for number, verdict, _ in fuzz._verdicts(3, 0, 1)]
    assert verdicts == [(0, "decoded"), (1, "crashed, exit code 7"), (2, "decoded")]


def test_a_truncated_file_is_refused_or_complete(tmp_path):
    """A truncated file that is decoded has every pixel of the complete file."""
    from panfocus.errors import FileError
    from panfocus.io.headers import read_headers
    from panfocus.io.read_stack import read_stack

    for name, data in seed_files().items():
        path = tmp_path / name
        path.write_bytes(data)
        whole = read_stack([path, path]).frames
        for length in np.unique(np.linspace(0, len(data) - 1, 40).astype(int)):
            path.write_bytes(data[:length])
            try:
                read_headers([path])
                found = read_stack([path, path]).frames
            except FileError as error:
                assert str(error).startswith(f"{path}: "), error
            else:
                np.testing.assert_array_equal(found, whole, err_msg=f"{name} cut to {length}")

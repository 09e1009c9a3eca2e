"""Sizes of memory as people write them."""

import pytest

from panfocus.errors import InputError
from panfocus.job.memory_plan import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        ("500mb", 5 * 10**8),
        ("1.5GiB", 3 * 2**29),
        ("1 KiB", 1024),
        ("4096", 4096),
        ("3T", 3 * 10**12),
    ],
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert parse_size("--max-memory", text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1XB", "1..5GB", "nan", "9" * 400])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(InputError, match=r"--max-memory .* is not a size"):
        parse_size("--max-memory", text)


def test_sizes_are_written_for_people():
    assert format_size(1_500_000_000) == "1,500 MB"

"""Values of options: sizes, distances, slabs, and requests as plain data."""

import json
from pathlib import Path

import pytest

from panfocus.errors import InputError
from panfocus.job.memory_plan import format_size, parse_size
from panfocus.job.prepare import parse_slabs
from panfocus.job.request import Outputs, Request
from panfocus.job.serialization import from_plain, to_plain
from panfocus.job.write_outputs import DepthScale


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
def test_sizes_are_parsed(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1XB", "1..5GB", "nan", "9" * 400])
def test_invalid_sizes_are_rejected(text):
    with pytest.raises(InputError) as caught:
        parse_size(text)
    assert caught.value.facts == {"setting": "max_memory", "got": text}


def test_sizes_are_formatted_in_megabytes():
    assert format_size(1_500_000_000) == "1,500 MB"


@pytest.mark.parametrize(
    ("text", "step", "unit"),
    [("5um", 5, "um"), ("0.1mm", 0.1, "mm"), (".5 µm", 0.5, "um"), ("3.μm", 3, "um"), ("2MM", 2, "mm")],
)
def test_distances_are_parsed(text, step, unit):
    assert DepthScale.parse(text) == DepthScale(step, unit)


@pytest.mark.parametrize("text", ["", "5", "um", "-1um", "0um", "5nm", "1e3um", "5 u m", f"{'9' * 400}um"])
def test_invalid_distances_are_rejected(text):
    with pytest.raises(InputError) as caught:
        DepthScale.parse(text)
    assert caught.value.facts == {"setting": "step", "got": text}


def test_slabs_are_parsed():
    assert parse_slabs(" 10:3 ") == (10, 3)
    assert parse_slabs(None) is None
    for text in ("10", "10:", "a:b", "1:2:3", "-1:0"):
        with pytest.raises(InputError):
            parse_slabs(text)


def test_request_survives_conversion_to_plain_data():
    request = Request(
        inputs=("a", "b"),
        outputs=Outputs(image=Path("o.png"), applied=(Path("p.png"),)),
        refine_strength=1.0,
        apply_to=(("c", "d"), ("e",)),
        threads=3,
    )
    assert from_plain(json.loads(json.dumps(to_plain(request)))) == request
    for broken in ({"inputs": [1]}, {"threads": "3"}, {"refine": 1}, {"unknown": 1}, {"outputs": []}):
        with pytest.raises(ValueError):
            from_plain(to_plain(request) | broken)

"""Requests as plain data."""

import json
from pathlib import Path

import pytest

from panfocus.job.request import Outputs, Request
from panfocus.job.serialization import from_plain, to_plain


def test_a_request_survives_being_written_down():
    request = Request(
        inputs=("a", "b"),
        outputs=Outputs(image=Path("o.png"), applied=(Path("p.png"),)),
        refine_strength=1.0,
        apply_to=(("c", "d"), ("e",)),
        threads=3,
    )
    assert from_plain(json.loads(json.dumps(to_plain(request)))) == request
    for broken in ({"inputs": [1]}, {"threads": "3"}, {"refine": 1}, {"unknown": 1}, {"outputs": []}):
        with pytest.raises(ValueError, match="not of the kind"):
            from_plain(to_plain(request) | broken)

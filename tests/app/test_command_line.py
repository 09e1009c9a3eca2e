"""The command line that the page shows makes the same request as the page."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from panfocus.app.request_builder import build_request, command_line
from panfocus.cli._commands import commands as app
from panfocus.errors import InputError
from panfocus.job.request import Outputs, Request
from panfocus.job.runner import JobResult

PICTURE = Outputs(image=Path("fused.tif"))


def as_typed(line, monkeypatch) -> Request:
    """Return the request that `panfocus fuse` makes of a command line."""
    requests = []

    def run(request, **_):
        requests.append(request)
        return JobResult(None, (), (), shape=(2, 3, 4))

    monkeypatch.setattr("panfocus.job.runner.run", run)
    name, *words = shlex.split(line)
    assert name == "panfocus"
    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == 0, outcome.output
    return requests[0]


@pytest.mark.parametrize(
    "request_made",
    [
        Request(inputs=("a.jpg", "b.jpg"), outputs=PICTURE),
        Request(
            inputs=("my photos/it's 1.jpg", 'say "2" $HOME ~ *.jpg', "ü\n3.png"),
            outputs=Outputs(
                image=Path("out dir/fused.png"),
                labels=Path("l.png"),
                confidence=Path("c.tif"),
                depth=Path("d.tif"),
                depth_colour=Path("dc.png"),
                never_in_focus=Path("n.png"),
                sweep=Path("s.gif"),
                applied=(Path("x.tif"), Path("y.tif")),
                steps=Path("steps"),
                report=Path("r.json"),
            ),
            method="coupled",
            settings=("w=0.6", "contrast=normalised"),
            dictionary=Path("mine & yours.npz"),
            hot_pixels="on",
            align="shift",
            reference="b c.jpg",
            borders="crop",
            exposure="off",
            refine=True,
            refine_strength=0.1 + 0.2,
            slabs="10:3",
            preview=True,
            step="5um",
            skip_bad=True,
            apply_to=(("x",), ("y",)),
            channel=2,
            time=3,
            jpeg_quality=80,
            jpeg_subsampling="420",
            bits=8,
            max_memory=2_000_000_000,
            threads=2,
        ),
        Request(inputs=("-a.jpg", "--force"), outputs=PICTURE, align="off"),
    ],
    ids=["plain", "everything", "names like options"],
)
def test_a_command_line_makes_the_same_request(request_made, monkeypatch):
    assert as_typed(command_line(request_made), monkeypatch) == request_made


def test_options_of_the_page_become_a_request():
    options = {
        "method": "panfocus",
        "settings": {"noise": 2.5, "front": "first"},
        "align": "off",
        "refine_strength": 1,
        "threads": None,
        "dictionary": "mine",
    }
    files = [Path("/photos/1.jpg"), Path("/photos/2.jpg")]
    expected = Request(
        inputs=("/photos/1.jpg", "/photos/2.jpg"),
        outputs=PICTURE,
        method="panfocus",
        settings=("noise=2.5", "front=first"),
        align="off",
        refine_strength=1,
        dictionary=Path("/work/mine.npz"),
    )
    assert build_request(options, files, PICTURE, dictionary=Path("/work/mine.npz")) == expected


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ({"inputs": ["/etc/passwd"]}, "inputs"),
        ({"outputs": {"image": "/home/me/.bashrc"}}, "outputs"),
        ({"apply_to": [["/etc"]]}, "apply_to"),
        ({"algin": "off"}, "algin"),
        ({"align": 3}, None),
        ({"threads": "two"}, None),
        ({"settings": "w=1"}, None),
    ],
)
def test_invalid_options_of_the_page_are_refused(options, setting):
    with pytest.raises(InputError) as caught:
        build_request(options, [Path("a"), Path("b")], PICTURE)
    assert caught.value.facts.get("setting") == setting

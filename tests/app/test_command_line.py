"""The command that is shown is the one that does it: read by the command line it is the same request."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from panfocus.app.request_builder import build_request, command_line
from panfocus.cli._commands import commands as app
from panfocus.errors import InputError
from panfocus.job.request import Outputs, Request

PICTURE = Outputs(image=Path("fused.tif"))


def as_typed(line, monkeypatch) -> Request:
    """Return what `panfocus fuse` makes of a line that a shell has taken apart."""
    requests = []
    monkeypatch.setattr("panfocus.job.runner.run", lambda request, *_, **__: requests.append(request))
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
            max_memory="2GB",
            threads=2,
        ),
        Request(inputs=("-a.jpg", "--force"), outputs=PICTURE, align="off"),
    ],
    ids=["plain", "everything", "names like options"],
)
def test_a_command_line_is_read_back_as_the_same_request(request_made, monkeypatch):
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
    ("options", "said"),
    [
        ({"inputs": ["/etc/passwd"]}, "inputs is no option"),
        ({"outputs": {"image": "/home/me/.bashrc"}}, "outputs is no option"),
        ({"apply_to": [["/etc"]]}, "apply_to is no option"),
        ({"algin": "off"}, "algin is no option"),
        ({"align": 3}, "3 is not of the kind"),
        ({"threads": "two"}, "'two' is not of the kind"),
        ({"threads": 0}, "threads counts from 1, got 0"),
        ({"settings": "w=1"}, "'w=1' is not of the kind"),
    ],
)
def test_what_a_page_may_not_say_is_refused(options, said):
    with pytest.raises(InputError, match=said):
        build_request(options, [Path("a"), Path("b")], PICTURE)

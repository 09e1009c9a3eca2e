import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panfocus.errors import FileError
from panfocus.io.encode import write_image
from panfocus.io.regions import encode_regions, read_regions
from rejections import rejected

REGION = {"focused": '"f.png"', "blurred": '"b.png"', "top": 2, "left": 3, "height": 5, "width": 7}


@pytest.fixture
def pair(tmp_path):
    focused = np.arange(13 * 17, dtype=np.uint8).reshape(13, 17)
    blurred = focused[::-1].copy()
    write_image(tmp_path / "f.png", focused)
    write_image(tmp_path / "b.png", blurred)
    return focused, blurred


def toml(tmp_path, *regions, extra=""):
    tables = [
        "[[region]]\n" + "".join(f"{key} = {value}\n" for key, value in region.items()) for region in regions
    ]
    path = tmp_path / "regions.toml"
    path.write_text(extra + "\n".join(tables))
    return path


def test_rectangles_are_cut_from_both_frames_alike(tmp_path, pair):
    whole = REGION | {"top": 0, "left": 0, "height": 13, "width": 17}
    focused, blurred = read_regions(toml(tmp_path, REGION, whole))
    np.testing.assert_array_equal(focused[0], pair[0][2:7, 3:10])
    np.testing.assert_array_equal(blurred[0], pair[1][2:7, 3:10])
    np.testing.assert_array_equal(blurred[1], pair[1])


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"height": 12}, {"frame": "f.png"}),
        ({"left": 11}, {"frame": "f.png"}),
        ({"top": -1}, {"frame": "f.png"}),
        ({"width": 0}, {"frame": "f.png"}),
        ({"top": 2.5}, {"key": "top", "got": 2.5}),
        ({"top": "true"}, {"key": "top", "got": True}),
        ({"focused": 3}, {"key": "focused", "got": 3}),
        ({"heigth": 5}, {"needed": tuple(REGION)}),
        ({"blurred": '"f.png"'}, {"problem": "same file"}),
        ({"blurred": '"small.png"'}, {"problem": "size"}),
    ],
    ids=str,
)
def test_wrong_region_is_rejected_with_its_number(tmp_path, pair, change, facts):
    write_image(tmp_path / "small.png", pair[1][:-1])
    path = toml(tmp_path, REGION, REGION | change)
    with rejected(path, region=2, **facts):
        read_regions(path)


def test_a_missing_key_is_rejected(tmp_path, pair):
    path = toml(tmp_path, {key: value for key, value in REGION.items() if key != "top"})
    with rejected(path, region=1, needed=tuple(REGION)):
        read_regions(path)


def test_files_that_list_no_region_are_rejected(tmp_path, pair):
    for regions, extra, problem in (
        ((), "", "tables"),
        ((REGION,), "title = 1\n", "tables"),
        ((), "= =", "TOML"),
    ):
        path = toml(tmp_path, *regions, extra=extra)
        with rejected(path, problem=problem):
            read_regions(path)
    path = tmp_path / "none.toml"
    with rejected(path, problem="No such file or directory"):
        read_regions(path)


def test_a_missing_frame_is_rejected_by_name(tmp_path, pair):
    with rejected(tmp_path / "none.png", problem="No such file or directory"):
        read_regions(toml(tmp_path, REGION | {"blurred": '"none.png"'}))


@settings(max_examples=40, deadline=None)
@given(st.text(), st.text(), st.integers(0, 10**6))
def test_encoded_regions_are_read_as_they_were(focused, blurred, number):
    region = {"focused": focused, "blurred": blurred, "top": number, "left": 0, "height": 5, "width": 7}
    text = encode_regions([region, region | {"left": 1}]).decode()
    assert tomllib.loads(text) == {"region": [region, region | {"left": 1}]}  # the standard's own reader


def test_name_with_invalid_unicode_is_rejected():
    region = {"focused": "a\udcff.png", "blurred": "b", "top": 0, "left": 0, "height": 5, "width": 7}
    with pytest.raises(FileError) as caught:
        encode_regions([region])
    assert caught.value.facts["got"] == "\\udcff"

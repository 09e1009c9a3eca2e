"""Which files are which stack."""

import errno
import os
import re
from pathlib import Path

import numpy as np
import pytest
import tifffile

from panfocus.batch import find_stacks
from panfocus.errors import FileError, InputError


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def names_of(found, folder):
    return {
        name: [Path(path).relative_to(folder).as_posix() for path in files]
        for name, files in found.stacks.items()
    }


def left_of(found, folder):
    return sorted(path.relative_to(folder).as_posix() for path in found.left)


def test_every_folder_with_two_images_is_a_stack_in_natural_order(tmp_path):
    touch(tmp_path, "a/z10.tif", "a/z9.tif", "a/notes.txt", "b/c/1.png", "b/c/2.png", "b/single.png")
    touch(tmp_path, "loose.png", ".hidden/1.png", ".hidden/2.png")
    found = find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    assert names_of(found, tmp_path) == {"a": ["a/z9.tif", "a/z10.tif"], "b/c": ["b/c/1.png", "b/c/2.png"]}
    assert left_of(found, tmp_path) == ["b/single.png", "loose.png"]


def test_stores_are_told_of_and_not_looked_into(tmp_path):
    touch(tmp_path, "a/1.png", "a/2.png", "a/slide.ome.zarr/0/x/1.png", "a/slide.ome.zarr/0/x/2.png")
    found = find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    assert list(found.stacks) == ["a"]
    assert left_of(found, tmp_path) == ["a/slide.ome.zarr"]
    touch(tmp_path, "wells/1.zarr/zarr.json", "wells/2.zarr/zarr.json")
    for by in (find_stacks.by_folders, find_stacks.by_files):
        with pytest.raises(InputError, match=r"1\.zarr: an OME-Zarr store is fused by itself"):
            by(tmp_path / "wells", without=tmp_path / "out")


def test_pictures_that_are_not_read_are_told_of_with_their_stack_or_as_left(tmp_path):
    touch(tmp_path, "a/1.png", "a/2.png", "a/3.bmp", "b/1.png", "b/2.png", "c/1.heic", "c/2.heic")
    (tmp_path / "b" / "no-name").write_bytes(b"\x89PNG\r\n\x1a\n....")  # a picture by its content
    (tmp_path / "b" / "notes.txt").write_text("mine")
    found = find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    assert found.unread == {
        "a": f"left out: 1 picture in {tmp_path / 'a'} of no kind that panfocus reads there (3.bmp)",
        "b": f"left out: 1 picture in {tmp_path / 'b'} of no kind that panfocus reads there (no-name)",
    }
    assert left_of(found, tmp_path) == ["c/1.heic", "c/2.heic"]
    assert list(found.stacks) == ["a", "b"]


def test_a_picture_that_is_not_read_belongs_to_the_stack_that_its_name_fits(tmp_path):
    touch(tmp_path, "A_z1.tif", "A_z2.tif", "A_z3.bmp", "B_z1.tif", "B_z2.tif", "C_z1.bmp", "map.bmp")
    found = find_stacks.by_pattern(tmp_path, r"(?P<stack>.)_z\d+\..+", without=tmp_path / "out")
    assert list(found.stacks) == ["A", "B"]
    assert list(found.unread) == ["A"] and "(A_z3.bmp)" in found.unread["A"]
    assert left_of(found, tmp_path) == ["C_z1.bmp", "map.bmp"]


def test_results_of_batches_are_no_stacks(tmp_path):
    touch(tmp_path, "a/1.png", "a/2.png", "out/a/fused.png", "out/a/labels.png")
    touch(tmp_path, "older/a/fused.png", "older/a/thumbnail.png")
    (tmp_path / "older" / "a" / "batch.json").write_text('{"fingerprint": "", "outcome": {}}')
    assert list(find_stacks.by_folders(tmp_path, without=tmp_path / "out").stacks) == ["a"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"batch": 7}'])
def test_a_file_of_another_program_that_is_called_like_a_record_hides_no_stack(tmp_path, text):
    touch(tmp_path, "a/1.png", "a/2.png")
    (tmp_path / "a" / "batch.json").write_text(text)
    assert list(find_stacks.by_folders(tmp_path, without=tmp_path / "out").stacks) == ["a"]


def test_a_link_back_to_a_folder_above_ends(tmp_path):
    touch(tmp_path, "a/1.png", "a/2.png")
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    found = find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    assert list(found.stacks) == ["a"]
    assert found.again == (tmp_path / "a" / "back",)


@pytest.mark.parametrize("turned", [False, True])
def test_a_folder_and_links_to_it_are_one_stack_by_the_name_of_the_folder(tmp_path, monkeypatch, turned):
    """In whatever order the disk has them."""
    data = tmp_path / "data"
    touch(tmp_path, "data/m/deep/1.png", "data/m/deep/2.png", "elsewhere/1.png", "elsewhere/2.png")
    for name in ("a", "z"):
        (data / name).symlink_to(data / "m" / "deep")
    for name in ("link10", "link9"):
        (data / name).symlink_to(tmp_path / "elsewhere")
    (data / "results").symlink_to(tmp_path / "out")
    touch(tmp_path, "out/x/1.png", "out/x/2.png")
    walk = os.walk

    def in_some_order(top, **options):
        for place, below, files in walk(top, **options):
            below.sort(reverse=turned)
            yield place, below, files

    monkeypatch.setattr("os.walk", in_some_order)
    found = find_stacks.by_folders(data, without=tmp_path / "out")
    assert names_of(found, data) == {
        "link9": ["link9/1.png", "link9/2.png"],
        "m/deep": ["m/deep/1.png", "m/deep/2.png"],
    }
    assert found.again == (data / "a", data / "link10", data / "z")


def test_a_pattern_fits_the_whole_path_and_names_the_stack(tmp_path):
    touch(tmp_path, "p1/A01_z10.tif", "p1/A01_z2.tif", "p1/A02_z1.tif", "p2/A01_z1.tif", "p2/overview.tif")
    found = find_stacks.by_pattern(tmp_path, r"(?P<stack>.+)_z\d+\.tif", without=tmp_path / "out")
    assert names_of(found, tmp_path) == {
        "p1/A01": ["p1/A01_z2.tif", "p1/A01_z10.tif"],
        "p1/A02": ["p1/A02_z1.tif"],
        "p2/A01": ["p2/A01_z1.tif"],
    }
    assert left_of(found, tmp_path) == ["p2/overview.tif"]


def test_a_table_names_stacks_and_orders_their_files(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("\ufeffstack,file,order\nx,far.tif,10\nx,near.tif,9\ny,sub/1.tif,1\n", "utf-8")
    found = find_stacks.by_table(tmp_path, table)
    assert names_of(found, tmp_path) == {"x": ["near.tif", "far.tif"], "y": ["sub/1.tif"]}
    table.write_text("stack,file\nx,b.tif\nx,a.tif\n")
    assert names_of(find_stacks.by_table(tmp_path, table), tmp_path) == {"x": ["b.tif", "a.tif"]}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "first line with the columns"),
        ("name,file\nx,a.tif\n", "first line with the columns"),
        ("stack,file,File\nx,a.tif,b.tif\n", "first line with the columns stack and file, once each"),
        ("stack,file,order\nx,a.tif,last\n", "line 2 has an order that is no number"),
        ("stack,file,order\nx,a.tif,nan\n", "line 2 has an order"),
        ("stack,file,order\nx,a.tif\n", "line 2 has an order"),
        ("stack,file\nx,a.tif\n,b.tif\n", "line 3 names no stack"),
        ("stack,file\nx,a.tif\ny,a.tif\nx,./a.tif\n", "lines 2 and 4 both name a.tif for the stack x"),
        pytest.param(f"stack,file\nx,{200_000 * 'a'}\n", "no table in CSV", id="a cell without end"),
        ("stack,file\nx,*.tif\n", "is a folder or a pattern"),
        ("stack,file\nx,.\n", "is a folder or a pattern"),
        ("stack,file\n../x,a.tif\n", "is no name for a stack"),
        ("stack,file\n/x,a.tif\n", "is no name for a stack"),
    ],
)
def test_a_wrong_table_is_one_line(tmp_path, text, complaint):
    table = tmp_path / "table.csv"
    table.write_text(text)
    with pytest.raises((FileError, InputError), match=complaint):
        find_stacks.by_table(tmp_path, table)


@pytest.mark.parametrize(
    "text", ["stack;file;order\nx;b.tif;1,5\nx;a.tif;0,5\n", "stack\tfile\nx\ta.tif\nx\tb.tif\n"]
)
def test_a_table_may_have_semicolons_or_tabs_between_its_columns(tmp_path, text):
    (tmp_path / "table.csv").write_text(text)
    assert names_of(find_stacks.by_table(tmp_path, tmp_path / "table.csv"), tmp_path) == {
        "x": ["a.tif", "b.tif"]
    }


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8"])
def test_a_table_is_read_as_spreadsheets_write_it(tmp_path, encoding):
    text = "\ufeffStack\tFILE\tOrder\r\nGrün\tb.tif\t2\r\nGrün\ta.tif\t1\r\n"
    (tmp_path / "table.csv").write_bytes(text.encode(encoding))
    found = find_stacks.by_table(tmp_path, tmp_path / "table.csv")
    assert names_of(found, tmp_path) == {"Grün": ["a.tif", "b.tif"]}


@pytest.mark.parametrize(
    "data", ["stack,file\nGrün,a.tif\n".encode("latin-1"), "\ufeffstack,file\n".encode("utf-16-le")[:-1]]
)
def test_a_table_in_another_encoding_says_how_to_save_it(tmp_path, data):
    (tmp_path / "table.csv").write_bytes(data)
    with pytest.raises(FileError, match=r"table\.csv: not UTF-8; save it as CSV UTF-8$"):
        find_stacks.by_table(tmp_path, tmp_path / "table.csv")


def test_blanks_around_a_name_make_no_other_stack(tmp_path):
    (tmp_path / "table.csv").write_text("stack , file\nx, a.tif\nx ,b.tif \n")
    found = find_stacks.by_table(tmp_path, tmp_path / "table.csv")
    assert names_of(found, tmp_path) == {"x": ["a.tif", "b.tif"]}


def test_a_table_may_have_empty_rows_and_cells_of_several_lines(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text('stack,file,note\n\nx,a.tif,"two\nlines"\n,,\nx,b.tif,\n,c.tif,\n')
    with pytest.raises(FileError, match="line 7 names no stack"):
        find_stacks.by_table(tmp_path, table)
    table.write_text(table.read_text().replace(",c.tif", "y,c.tif"))
    assert names_of(find_stacks.by_table(tmp_path, table), tmp_path) == {
        "x": ["a.tif", "b.tif"],
        "y": ["c.tif"],
    }


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (("A", "A/"), "the results of the stacks 'A' and 'A/' would go to one folder; give one"),
        (("A//B", "A/B"), "the results of the stacks 'A//B' and 'A/B' would go to one folder"),
        (("A/fused.png",), "'A/fused.png' is no name for a stack: files of a batch are called fused.png"),
        (("A/Labels.png/B",), "files of a batch are called Labels.png"),
        (("index.html",), "files of a batch are called index.html"),
        (("summary.json",), "files of a batch are called summary.json"),
        ((".panfocus.lock",), r"files of a batch are called .panfocus.lock"),
    ],
)
def test_stacks_are_refused_whose_results_would_replace_others(tmp_path, names, complaint):
    table = tmp_path / "table.csv"
    table.write_text("".join(["stack,file\n", *(f"{name},{i}.tif\n" for i, name in enumerate(names))]))
    with pytest.raises(InputError, match=re.escape(complaint)):
        find_stacks.by_table(tmp_path, table)


@pytest.mark.parametrize("name", ["a\u00a0b", "a\u3000b", "\U0001f468\u200d\U0001f52c", "a\\b", "a: b?"])
def test_a_name_that_a_folder_can_have_is_one(tmp_path, name):
    touch(tmp_path, f"{name}/1.png", f"{name}/2.png")
    assert list(find_stacks.by_folders(tmp_path, without=tmp_path / "out").stacks) == [name]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a\nb", "it has a control character (U+000A) in it; rename it"),
        ("a\x85b", "it has a control character (U+0085) in it"),
        ("a\udcffb", "it has a byte that is not UTF-8 (U+DCFF) in it"),
        ("A/fused.png", "files of a batch are called fused.png"),
    ],
)
def test_a_stack_of_a_bad_name_is_set_apart_and_refuses_no_other(tmp_path, name, reason):
    touch(tmp_path, "A/1.png", "A/2.png", f"{name}/1.png", f"{name}/2.png", f"{name}/3.bmp")
    found = find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    assert list(found.stacks) == ["A"]
    assert list(found.failed) == [name]
    assert found.failed[name].startswith(f"no name for a stack: {reason}")


def test_a_slash_at_the_end_of_a_name_is_left_out(tmp_path):
    touch(tmp_path, "A/z1.tif", "A/z2.tif", "A/z3.bmp")
    found = find_stacks.by_pattern(tmp_path, r"(?P<stack>.+/)z\d+\..+", without=tmp_path / "out")
    assert names_of(found, tmp_path) == {"A": ["A/z1.tif", "A/z2.tif"]}
    assert list(found.unread) == ["A"]


def test_files_with_several_pages_are_stacks_and_damaged_ones_are_not_forgotten(tmp_path):
    for name in ("stack.tif", "stack.tiff", "stack.tiff.tif"):
        tifffile.imwrite(tmp_path / name, np.zeros((5, 16, 16), np.uint8), photometric="minisblack")
    tifffile.imwrite(tmp_path / "single.tif", np.zeros((16, 16), np.uint8))
    (tmp_path / "damaged.tif").write_bytes(b"II*\0nonsense")
    found = find_stacks.by_files(tmp_path, without=tmp_path / "out")
    assert list(found.stacks) == ["damaged", "stack", "stack.tiff", "stack.tiff.tif"]
    assert left_of(found, tmp_path) == ["single.tif"]


def test_no_stack_at_all_says_how_else_they_may_be_told_apart(tmp_path):
    touch(tmp_path, "1.png", "2.png")
    with pytest.raises(InputError, match="--pattern, --csv and --files"):
        find_stacks.by_folders(tmp_path, without=tmp_path / "out")


def test_a_folder_that_cannot_be_read_is_told_of_as_a_stack_that_failed(tmp_path, monkeypatch):
    touch(tmp_path / "data", "a/1.png", "a/2.png", "b/1.png", "b/2.png")
    scandir = os.scandir

    def refuse(path):
        if Path(path).name == "b":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find_stacks.by_folders(tmp_path / "data", without=tmp_path / "out")
    assert list(found.stacks) == ["a"]
    assert found.failed == {"b": "this folder cannot be read (Permission denied)"}

"""Find stacks by folders, patterns, tables and multi-page files."""

import errno
import os
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


def files_of(found, folder):
    return {
        name: [Path(path).relative_to(folder).as_posix() for path in files]
        for name, files in found.stacks.items()
    }


def unused_in(found, folder):
    return sorted(path.relative_to(folder).as_posix() for path in found.unused)


def test_folder_with_two_images_is_a_stack_in_natural_order(tmp_path):
    touch(tmp_path, "a/z10.tif", "a/z9.tif", "a/notes.txt", "b/c/1.png", "b/c/2.png", "b/single.png")
    touch(tmp_path, "loose.png", ".hidden/1.png", ".hidden/2.png")
    found = find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    assert files_of(found, tmp_path) == {"a": ["a/z9.tif", "a/z10.tif"], "b/c": ["b/c/1.png", "b/c/2.png"]}
    assert unused_in(found, tmp_path) == ["b/single.png", "loose.png"]


def test_stores_are_reported_and_not_searched(tmp_path):
    touch(tmp_path, "a/1.png", "a/2.png", "a/slide.ome.zarr/0/x/1.png", "a/slide.ome.zarr/0/x/2.png")
    found = find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    assert list(found.stacks) == ["a"]
    assert unused_in(found, tmp_path) == ["a/slide.ome.zarr"]
    touch(tmp_path, "wells/1.zarr/zarr.json", "wells/2.zarr/zarr.json")
    for by in (find_stacks.by_folders, find_stacks.by_files):
        with pytest.raises(InputError) as caught:
            by(tmp_path / "wells", without=tmp_path / "out")
        assert caught.value.facts["file"] == tmp_path / "wells" / "1.zarr"


def test_unsupported_pictures_are_reported_with_their_stack_or_as_unused(tmp_path):
    touch(tmp_path, "a/1.png", "a/2.png", "a/3.bmp", "b/1.png", "b/2.png", "c/1.heic", "c/2.heic")
    (tmp_path / "b" / "no-name").write_bytes(b"\x89PNG\r\n\x1a\n....")  # a picture without a suffix
    (tmp_path / "b" / "notes.txt").write_text("mine")
    found = find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    assert "3.bmp" in found.skipped.pop("a") and "no-name" in found.skipped.pop("b")
    assert found.skipped == {}
    assert unused_in(found, tmp_path) == ["c/1.heic", "c/2.heic"]
    assert list(found.stacks) == ["a", "b"]


def test_unsupported_picture_belongs_to_the_stack_that_its_name_matches(tmp_path):
    touch(tmp_path, "A_z1.tif", "A_z2.tif", "A_z3.bmp", "B_z1.tif", "B_z2.tif", "C_z1.bmp", "map.bmp")
    found = find_stacks.by_pattern(tmp_path, r"(?P<stack>.)_z\d+\..+", without=tmp_path / "out")
    assert list(found.stacks) == ["A", "B"]
    assert list(found.skipped) == ["A"] and "A_z3.bmp" in found.skipped["A"]
    assert unused_in(found, tmp_path) == ["C_z1.bmp", "map.bmp"]


def test_results_of_batches_are_not_stacks(tmp_path):
    touch(tmp_path, "a/1.png", "a/2.png", "out/a/fused.png", "out/a/labels.png")
    touch(tmp_path, "older/a/fused.png", "older/a/thumbnail.png")
    (tmp_path / "older" / "a" / "batch.json").write_text('{"fingerprint": "", "outcome": {}}')
    assert list(find_stacks.by_folders(tmp_path, without=tmp_path / "out").stacks) == ["a"]


def test_earlier_result_of_fuse_is_no_frame(tmp_path):
    touch(tmp_path, "a/1.png", "a/2.png", "a/a-fused.png", "a/a-fused-2.png")
    found = find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    assert [path.name for path in found.stacks["a"]] == ["1.png", "2.png"]
    assert "a-fused-2.png" in found.skipped["a"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"batch": 7}'])
def test_other_file_with_the_name_of_a_record_hides_no_stack(tmp_path, text):
    touch(tmp_path, "a/1.png", "a/2.png")
    (tmp_path / "a" / "batch.json").write_text(text)
    assert list(find_stacks.by_folders(tmp_path, without=tmp_path / "out").stacks) == ["a"]


def test_symbolic_link_to_a_parent_folder_is_not_followed_forever(tmp_path):
    touch(tmp_path, "a/1.png", "a/2.png")
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    found = find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    assert list(found.stacks) == ["a"]
    assert found.duplicates == [tmp_path / "a" / "back"]


@pytest.mark.parametrize("reverse", [False, True])
def test_folder_and_links_to_it_are_one_stack(tmp_path, monkeypatch, reverse):
    """Also if the disk lists them in another order."""
    data = tmp_path / "data"
    touch(tmp_path, "data/m/deep/1.png", "data/m/deep/2.png", "elsewhere/1.png", "elsewhere/2.png")
    for name in ("a", "z"):
        (data / name).symlink_to(data / "m" / "deep")
    for name in ("link10", "link9"):
        (data / name).symlink_to(tmp_path / "elsewhere")
    (data / "results").symlink_to(tmp_path / "out")
    touch(tmp_path, "out/x/1.png", "out/x/2.png")
    walk = os.walk

    def walk_in_order(top, **options):
        for place, below, files in walk(top, **options):
            below.sort(reverse=reverse)
            yield place, below, files

    monkeypatch.setattr("os.walk", walk_in_order)
    found = find_stacks.by_folders(data, without=tmp_path / "out")
    assert files_of(found, data) == {
        "link9": ["link9/1.png", "link9/2.png"],
        "m/deep": ["m/deep/1.png", "m/deep/2.png"],
    }
    assert found.duplicates == [data / "a", data / "link10", data / "z"]


def test_pattern_matches_the_whole_path_and_names_the_stack(tmp_path):
    touch(tmp_path, "p1/A01_z10.tif", "p1/A01_z2.tif", "p1/A02_z1.tif", "p2/A01_z1.tif", "p2/overview.tif")
    found = find_stacks.by_pattern(tmp_path, r"(?P<stack>.+)_z\d+\.tif", without=tmp_path / "out")
    assert files_of(found, tmp_path) == {
        "p1/A01": ["p1/A01_z2.tif", "p1/A01_z10.tif"],
        "p1/A02": ["p1/A02_z1.tif"],
        "p2/A01": ["p2/A01_z1.tif"],
    }
    assert unused_in(found, tmp_path) == ["p2/overview.tif"]


def test_table_names_stacks_and_orders_their_files(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("\ufeffstack,file,order\nx,far.tif,10\nx,near.tif,9\ny,sub/1.tif,1\n", "utf-8")
    found = find_stacks.by_table(tmp_path, table)
    assert files_of(found, tmp_path) == {"x": ["near.tif", "far.tif"], "y": ["sub/1.tif"]}
    table.write_text("stack,file\nx,b.tif\nx,a.tif\n")
    assert files_of(find_stacks.by_table(tmp_path, table), tmp_path) == {"x": ["b.tif", "a.tif"]}


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("", {}),
        ("name,file\nx,a.tif\n", {}),
        ("stack,file,File\nx,a.tif,b.tif\n", {}),
        ("stack,file,order\nx,a.tif,last\n", {"line": 2}),
        ("stack,file,order\nx,a.tif,nan\n", {"line": 2}),
        ("stack,file,order\nx,a.tif\n", {"line": 2}),
        ("stack,file\nx,a.tif\n,b.tif\n", {"line": 3}),
        ("stack,file\nx,a.tif\ny,a.tif\nx,./a.tif\n", {"lines": (2, 4)}),
        pytest.param(f"stack,file\nx,{200_000 * 'a'}\n", {}, id="unlimited cell"),
        ("stack,file\nx,*.tif\n", {"got": "*.tif"}),
        ("stack,file\nx,.\n", {"got": ""}),
    ],
)
def test_wrong_table_is_rejected(tmp_path, text, facts):
    table = tmp_path / "table.csv"
    table.write_text(text)
    with pytest.raises(FileError) as caught:
        find_stacks.by_table(tmp_path, table)
    if "got" in facts:
        facts = {"got": tmp_path / facts["got"]}
    assert caught.value.facts == {"file": table, **facts}


@pytest.mark.parametrize(
    "text", ["stack;file;order\nx;b.tif;1,5\nx;a.tif;0,5\n", "stack\tfile\nx\ta.tif\nx\tb.tif\n"]
)
def test_table_may_be_separated_by_semicolons_or_tabs(tmp_path, text):
    (tmp_path / "table.csv").write_text(text)
    assert files_of(find_stacks.by_table(tmp_path, tmp_path / "table.csv"), tmp_path) == {
        "x": ["a.tif", "b.tif"]
    }


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8"])
def test_table_is_read_as_spreadsheets_write_it(tmp_path, encoding):
    text = "\ufeffStack\tFILE\tOrder\r\nGrün\tb.tif\t2\r\nGrün\ta.tif\t1\r\n"
    (tmp_path / "table.csv").write_bytes(text.encode(encoding))
    found = find_stacks.by_table(tmp_path, tmp_path / "table.csv")
    assert files_of(found, tmp_path) == {"Grün": ["a.tif", "b.tif"]}


@pytest.mark.parametrize(
    "data", ["stack,file\nGrün,a.tif\n".encode("latin-1"), "\ufeffstack,file\n".encode("utf-16-le")[:-1]]
)
def test_table_in_another_encoding_is_rejected(tmp_path, data):
    (tmp_path / "table.csv").write_bytes(data)
    with pytest.raises(FileError, match=r"table\.csv"):
        find_stacks.by_table(tmp_path, tmp_path / "table.csv")


def test_spaces_around_names_are_ignored(tmp_path):
    (tmp_path / "table.csv").write_text("stack , file\nx, a.tif\nx ,b.tif \n")
    found = find_stacks.by_table(tmp_path, tmp_path / "table.csv")
    assert files_of(found, tmp_path) == {"x": ["a.tif", "b.tif"]}


def test_table_may_have_empty_rows_and_cells_of_several_lines(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text('stack,file,note\n\nx,a.tif,"two\nlines"\n,,\nx,b.tif,\n,c.tif,\n')
    with pytest.raises(FileError) as caught:
        find_stacks.by_table(tmp_path, table)
    assert caught.value.facts == {"file": table, "line": 7}
    table.write_text(table.read_text().replace(",c.tif", "y,c.tif"))
    assert files_of(find_stacks.by_table(tmp_path, table), tmp_path) == {
        "x": ["a.tif", "b.tif"],
        "y": ["c.tif"],
    }


def table_of(folder, *names):
    table = folder / "table.csv"
    table.write_text("".join(["stack,file\n", *(f"{name},{i}.tif\n" for i, name in enumerate(names))]))
    return table


@pytest.mark.parametrize("names", [("A", "A/"), ("A//B", "A/B")])
def test_two_stacks_with_the_same_folder_are_refused(tmp_path, names):
    with pytest.raises(InputError) as caught:
        find_stacks.by_table(tmp_path, table_of(tmp_path, *names))
    assert caught.value.facts["stacks"] == [*names]


@pytest.mark.parametrize(
    "name",
    ["A/fused.png", "A/Labels.png/B", "index.html", "summary.json", ".panfocus.lock", "../x", "/x"],
)
def test_reserved_stack_name_is_refused(tmp_path, name):
    with pytest.raises(InputError) as caught:
        find_stacks.by_table(tmp_path, table_of(tmp_path, name))
    assert caught.value.facts == {"stack": name}


@pytest.mark.parametrize("name", ["a\u00a0b", "a\u3000b", "\U0001f468\u200d\U0001f52c", "a\\b", "a: b?"])
def test_any_valid_folder_name_may_name_a_stack(tmp_path, name):
    touch(tmp_path, f"{name}/1.png", f"{name}/2.png")
    assert list(find_stacks.by_folders(tmp_path, without=tmp_path / "out").stacks) == [name]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("a\nb", "U+000A"), ("a\x85b", "U+0085"), ("a\udcffb", "U+DCFF"), ("A/fused.png", "fused.png")],
)
def test_stack_with_an_impossible_name_is_set_apart(tmp_path, name, reason):
    touch(tmp_path, "A/1.png", "A/2.png", f"{name}/1.png", f"{name}/2.png", f"{name}/3.bmp")
    found = find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    assert list(found.stacks) == ["A"]
    assert list(found.failed) == [name]
    assert reason in found.failed[name]


def test_trailing_slash_of_a_name_is_dropped(tmp_path):
    touch(tmp_path, "A/z1.tif", "A/z2.tif", "A/z3.bmp")
    found = find_stacks.by_pattern(tmp_path, r"(?P<stack>.+/)z\d+\..+", without=tmp_path / "out")
    assert files_of(found, tmp_path) == {"A": ["A/z1.tif", "A/z2.tif"]}
    assert list(found.skipped) == ["A"]


def test_multi_page_files_are_stacks_also_if_damaged(tmp_path):
    for name in ("stack.tif", "stack.tiff", "stack.tiff.tif"):
        tifffile.imwrite(tmp_path / name, np.zeros((5, 16, 16), np.uint8), photometric="minisblack")
    tifffile.imwrite(tmp_path / "single.tif", np.zeros((16, 16), np.uint8))
    (tmp_path / "damaged.tif").write_bytes(b"II*\0nonsense")
    found = find_stacks.by_files(tmp_path, without=tmp_path / "out")
    assert list(found.stacks) == ["damaged", "stack", "stack.tiff", "stack.tiff.tif"]
    assert unused_in(found, tmp_path) == ["single.tif"]


def test_folder_without_stacks_is_an_input_error(tmp_path, message):
    touch(tmp_path, "1.png", "2.png")
    with pytest.raises(InputError) as caught:
        find_stacks.by_folders(tmp_path, without=tmp_path / "out")
    message("no stacks found", str(caught.value), folder=tmp_path)


def test_unreadable_folder_is_a_failed_stack(tmp_path, monkeypatch):
    touch(tmp_path / "data", "a/1.png", "a/2.png", "b/1.png", "b/2.png")
    scandir = os.scandir

    def refuse(path):
        if Path(path).name == "b":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find_stacks.by_folders(tmp_path / "data", without=tmp_path / "out")
    assert list(found.stacks) == ["a"]
    assert list(found.failed) == ["b"] and "Permission denied" in found.failed["b"]

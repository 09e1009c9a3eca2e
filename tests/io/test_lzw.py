"""Damage in LZW data of TIFFs. Streams are made by hand, or checked with a reference decoder."""

import imagecodecs
import numpy as np
import pytest
import tifffile
from PIL import Image

from panfocus.errors import FileError
from panfocus.io._kernel_lzw import BAD_CODE, FINE, TOO_LONG, TOO_SHORT, walk_lzw
from panfocus.io.read_stack import read_image
from rejections import rejected

CLEAR, END = 256, 257


def packed(*codes, width=9):
    bits = "".join(f"{code:0{width}b}" for code in codes)
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def packed_lowest_first(*codes):
    number = sum(code << 9 * k for k, code in enumerate(codes))
    return number.to_bytes(-(-9 * len(codes) // 8), "little")


def walked(data, needed, most=None):
    return walk_lzw(np.frombuffer(data, np.uint8), needed, needed if most is None else most)


def decoded(data, needed):
    """Decode by the book, in strings; None if there is no such code, or no more."""
    bits = "".join(f"{byte:08b}" for byte in data)
    table, previous, width, place, out = {}, None, 9, 0, b""
    while len(out) < needed:
        if place + width > len(bits):
            return None
        code, place = int(bits[place : place + width], 2), place + width
        if code == END:
            return None
        if code == CLEAR:
            table, previous, width = {k: bytes([k]) for k in range(256)}, None, 9
            continue
        if previous is not None:
            n = 258 + len(table) - 256
            first = table.get(code, previous)[:1]
            if code > n or n > 4096:
                return None
            table[n] = previous + first
            width = min(12, (n + 2).bit_length())  # longer codes begin one entry early
        elif code not in table:
            return None
        out += table[code]
        previous = table[code]
    return out


@pytest.mark.parametrize("pack", [packed, packed_lowest_first])
@pytest.mark.parametrize(
    ("codes", "needed", "verdict"),
    [
        ((CLEAR, 7, 8, 258, END), 4, FINE),  # 7 8 78
        ((CLEAR, 7, 258, 259, END), 6, FINE),  # 7 77 777: codes that are made by their own use
        ((CLEAR, CLEAR, 7, CLEAR, 8, END), 2, FINE),
        ((CLEAR, 7, 8), 2, FINE),  # some programs write no end
        ((CLEAR, 7, 8, 511), 2, FINE),  # nor do all say where it is
        ((CLEAR, 258, 7, 7, END), 3, BAD_CODE),  # what the decoder takes from wherever in memory
        ((CLEAR, 7, 8, CLEAR, 258, 7, END), 6, BAD_CODE),
        ((CLEAR, 7, 259, END), 3, BAD_CODE),
        ((CLEAR, 7, 8, END), 3, TOO_SHORT),
        ((CLEAR, 7), 2, TOO_SHORT),
        ((CLEAR, 7, 258, END), 2, TOO_LONG),
    ],
)
def test_streams_made_by_hand(pack, codes, needed, verdict):
    assert walked(pack(*codes), needed) == verdict
    if verdict == FINE:
        assert len(imagecodecs.lzw_decode(pack(*codes), out=needed)) == needed


def test_the_last_strip_may_be_as_long_as_the_others():
    assert walked(packed(CLEAR, 7, 258, 259, END), 4, 6) == FINE
    assert walked(packed(CLEAR, 7, 258, 259, END), 4, 5) == TOO_LONG


def test_no_bytes_are_too_few():
    assert [walked(bytes(n), 1) for n in (0, 1)] == [TOO_SHORT, TOO_SHORT]


@pytest.mark.parametrize("levels", [2, 256])
def test_damaged_streams_pass_only_if_they_can_be_decoded(levels):
    """Long enough for codes of 12 bits and for several tables."""
    rng = np.random.default_rng(levels)
    content = rng.integers(0, levels, 15_000, np.uint8).tobytes()
    whole = imagecodecs.lzw_encode(content)
    assert decoded(whole, len(content)) == content
    assert walked(whole, len(content)) == FINE
    seen = set()
    for k in range(20):
        data = bytearray(whole)
        place = int(rng.integers(2, len(data) - 20))
        if k % 2:
            data[place] ^= 1 << int(rng.integers(8))
        else:
            data[place : place + 20] = rng.integers(0, 256, rng.integers(40), np.uint8).tobytes()
        expected = decoded(data, len(content))
        verdict = walked(bytes(data), len(content))
        seen.add(verdict)
        if expected is None:
            assert verdict in (BAD_CODE, TOO_SHORT)
        else:
            assert verdict == (FINE if len(expected) == len(content) else TOO_LONG)
            assert imagecodecs.lzw_decode(bytes(data), out=len(content)) == expected[: len(content)]
    assert len(seen) > 1  # else they would test little


@pytest.mark.parametrize("writer", ["tifffile", "tiles", "planes", "libtiff", "lowest-first"])
def test_files_of_several_kinds_are_read(tmp_path, writer):
    image = np.random.default_rng(3).integers(0, 256, (131, 77, 3), np.uint8)
    path = tmp_path / "a.tif"
    options = {"photometric": "rgb", "compression": "lzw", "predictor": True}
    match writer:
        case "tifffile":
            tifffile.imwrite(path, image, rowsperstrip=8, **options)
        case "tiles":
            tifffile.imwrite(path, image, tile=(32, 48), **options)
        case "planes":
            tifffile.imwrite(path, np.moveaxis(image, 2, 0), planarconfig="separate", **options)
        case "libtiff":
            Image.fromarray(image).save(path, compression="tiff_lzw")
        case "lowest-first":
            Image.fromarray(image).save(path, compression="tiff_lzw", tiffinfo={266: 2})
            assert tifffile.TiffFile(path).pages[0].fillorder == 2
    np.testing.assert_array_equal(read_image(path), image)


@pytest.mark.parametrize("predictor", [1, 2])
def test_photographs_packed_by_libtiff_are_read(data_dir, tmp_path, predictor):
    """Its packer is not that of tifffile: it also clears its table where that packs better."""
    photograph = Image.open(data_dir / "lytro" / "lytro-07-A.jpg")
    path = tmp_path / "a.tif"
    photograph.save(path, compression="tiff_lzw", tiffinfo={317: predictor})
    with tifffile.TiffFile(path) as tiff:
        page = tiff.pages[0]
        assert (page.compression, page.predictor) == (tifffile.COMPRESSION.LZW, predictor)
        assert len(page.dataoffsets) > 1
    np.testing.assert_array_equal(read_image(path), np.asarray(photograph))


def test_invalid_first_code_is_rejected(tmp_path):
    from panfocus.io.tiff import read_bands

    image = np.arange(200, dtype=np.uint8).reshape(10, 20)
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, image, compression="lzw")
    data = path.read_bytes()
    codes = imagecodecs.lzw_encode(image.tobytes())
    path.write_bytes(data.replace(codes, (packed(CLEAR, 400, 7, 258) + codes)[: len(codes)]))
    with rejected(path, problem="invalid code"):
        read_image(path)
    with path.open("rb") as file, pytest.raises(FileError) as caught:
        list(read_bands(file, 0))
    assert caught.value.facts["problem"] == "invalid code"

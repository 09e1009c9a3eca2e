"""Channels without RGB meaning are fused one by one, as if each were the only one."""

import json

import numpy as np
import pytest
import tifffile
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus.channels import relative_detail, separate_channels
from panfocus.io.disk_array import scratch_frames
from panfocus.result import MAPS
from panfocus.stack import Acquisition, Metadata, ReplacedChannels, Stack, channel_of
from textures import texture

SHAPE = (40, 50)
NAMES = ("DAPI", "GFP", "Cy5")
ALPHA = ("cells", "alpha")


def channel(sharp_in, *, brightness=1.0, noise=0.0, seed=1):
    """Return a channel (3, h, w) in unit range, which is sharp in one frame."""
    sharp = texture(SHAPE, seed)
    rng = np.random.default_rng(seed)
    frames = [gaussian_filter(sharp, 1.5 * abs(k - sharp_in)) if k != sharp_in else sharp for k in range(3)]
    return 0.02 + brightness * np.array(frames) + rng.normal(0, noise, (3, *SHAPE))


def join(*channels, dtype=np.uint16):
    return np.rint(np.clip(np.stack(channels, axis=-1), 0, 1) * np.iinfo(dtype).max).astype(dtype)


@pytest.fixture(scope="module")
def cells():
    """Three channels, sharp in different frames; the second is 10 times dimmer.

    The dim channel has a hot pixel, and its last frame is 10 % brighter: neither stands out in all channels.
    """
    dim = channel(0, brightness=0.08, noise=0.002, seed=2)
    dim[2] *= 1.1
    dim[:, 20, 30] = 0.25
    return join(channel(2, brightness=0.8, noise=0.002), dim, channel(1, brightness=0.5, seed=3))


def assert_channels_alone(result, frames, *args, **settings):
    for c in range(frames.shape[3]):
        alone = pf.fuse(frames[..., c], *args, **settings)
        np.testing.assert_array_equal(result.image[..., c], alone.image)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("panfocus", {}),
        ("panfocus", {"composition": "labels", "hot_pixels": "off"}),
        ("panfocus", {"exposure": "off", "refine_strength": 1e-3}),
        ("sr-fm", {"stride": 4}),
        ("dsift", {}),
        ("dwt", {}),
        ("pca", {}),
    ],
)
def test_each_channel_is_fused_as_if_it_were_the_only_one(cells, method, settings):
    result = pf.fuse(cells, method, decide_channels="separate", **settings)
    assert (result.image.shape, result.image.dtype) == (cells.shape[1:], cells.dtype)
    assert_channels_alone(result, cells, method, **settings)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("n_channels", [2, 4])  # the last is alpha only if channels are fused together
def test_types_and_numbers_of_channels(cells, dtype, n_channels):
    frames = np.concatenate([cells, cells[::-1]], axis=3)[..., :n_channels] / 65535
    frames = np.rint(255 * frames).astype(dtype) if dtype == np.uint8 else frames.astype(dtype)
    result = pf.fuse(frames, decide_channels="separate")
    assert result.image.dtype == dtype
    assert_channels_alone(result, frames)


def test_repairs_and_exposure_are_those_of_each_channel(cells):
    report = pf.fuse(cells, decide_channels="separate").report
    assert report["decide_channels"] == "separate"
    found = report["separate_channels"]
    assert [each["hot_pixels"]["fixed"] for each in found] == [0, 1, 0]
    for c, each in enumerate(found):
        alone = pf.fuse(cells[..., c]).report
        for fact in ("hot_pixels", "exposure", "noise", "frame_shares", "mean_confidence"):
            assert each[fact] == alone[fact]
    assert found[1]["exposure"]["gains"] != [[1.0]] * 3
    together = pf.fuse(cells).report
    assert together["decide_channels"] == "together"
    assert "separate_channels" not in together
    assert "decide_channels" not in pf.fuse(cells[..., 0]).report


def test_tiles_threads_and_frames_on_disk_change_no_bit(cells):
    frames = np.tile(cells, (1, 7, 5, 1))
    whole = pf.fuse(frames, decide_channels="separate", threads=1)
    assert whole == pf.fuse(frames, decide_channels="separate", threads=3, max_memory=20_000_000)
    with scratch_frames(frames.shape, frames.dtype) as on_disk:
        for k, frame in enumerate(frames):
            on_disk[k] = frame
        assert whole == pf.fuse(on_disk, decide_channels="separate")


def test_maps_at_a_pixel_are_those_of_the_most_confident_channel(cells):
    frames = np.tile(cells, (1, 2, 6, 1))
    for c in range(3):  # structure in a third of the width, else nothing
        outside = np.arange(300) // 100 != c
        frames[:, :, outside, c] = 1500
    result = pf.fuse(frames, decide_channels="separate")
    alone = [pf.fuse(frames[..., c]) for c in range(3)]
    first_of_best = np.argmax([each.confidence for each in alone], axis=0)
    assert len(np.unique(first_of_best)) == 3
    for name in MAPS:
        planes = np.array([getattr(each, name) for each in alone])
        expected = np.take_along_axis(planes, first_of_best[None], axis=0)[0]
        np.testing.assert_array_equal(getattr(result, name), expected)
        assert getattr(result, name).dtype == planes.dtype
    shares = np.bincount(result.labels.ravel(), minlength=3) / result.labels.size
    np.testing.assert_allclose(result.report["frame_shares"], shares, atol=1e-6)
    assert result.report["never_in_focus_share"] == pytest.approx(result.never_in_focus.mean(), abs=1e-6)


@pytest.mark.parametrize("noise", [0, 0.002])
@pytest.mark.parametrize("method", ["panfocus", "dsift", "max-projection"])
def test_channel_without_light_decides_nothing(method, noise):
    dark = np.clip(0.02 + np.random.default_rng(4).normal(0, noise, (3, *SHAPE)), 0, 1)
    frames = join(dark, channel(2, noise=0.002))
    frames[..., 1][:, :, 25:] = join(channel(0, seed=6))[..., 0][:, :, 25:]
    result, alone = pf.fuse(frames, method, decide_channels="separate"), pf.fuse(frames[..., 1], method)
    assert {0, 2} <= set(np.unique(alone.labels))
    assert np.mean(result.labels == alone.labels) > 0.99
    if method == "panfocus":
        assert np.mean(result.never_in_focus == alone.never_in_focus) > 0.99


def test_methods_without_confidence_give_the_labels_of_the_channel_with_most_detail():
    """Each channel has structure in its half and noise in the other; the second is 20 times dimmer."""
    rng = np.random.default_rng(1)
    halves = np.where(np.arange(SHAPE[1]) < 25, 1.0, 0.0)
    first = 0.02 + halves * (channel(0) - 0.02) + rng.normal(0, 0.002, (3, *SHAPE))
    second = 0.02 + (1 - halves) * (channel(2, brightness=0.05, seed=2) - 0.02)
    second += rng.normal(0, 0.0001, (3, *SHAPE))
    frames = join(first, second)
    result = pf.fuse(frames, "dsift", decide_channels="separate", refinement="none")
    own = [pf.fuse(frames[..., c], "dsift", refinement="none").labels for c in range(2)]
    np.testing.assert_array_equal(result.labels[:, :15], own[0][:, :15])
    np.testing.assert_array_equal(result.labels[:, 35:], own[1][:, 35:])
    assert result.confidence is None


def test_relative_detail_does_not_depend_on_brightness_or_bands(monkeypatch):
    image = np.random.default_rng(2).normal(0.5, 0.01, (300, 40))
    detail = relative_detail(image)
    of_white_noise = (20**2 + 4 * 4**2 + 4 * 1**2) / 6**2  # sum of the squared weights of the Laplacian
    assert detail.mean() == pytest.approx(of_white_noise, rel=0.1)
    np.testing.assert_allclose(relative_detail(image / 10), detail, rtol=1e-4)
    monkeypatch.setattr("panfocus.channels.BAND", 7)
    np.testing.assert_array_equal(relative_detail(image), detail)
    assert not relative_detail(np.full((13, 17), 500, np.uint16)).any()


@pytest.mark.parametrize(
    ("shape", "names", "separate"),
    [
        ((3, 13, 17), None, 0),
        ((3, 13, 17, 1), None, 0),
        ((3, 13, 17, 2), None, 0),  # grey with alpha
        ((3, 13, 17, 3), None, 0),
        ((3, 13, 17, 4), None, 0),
        ((3, 13, 17, 5), None, 5),
        ((3, 13, 17), ("DAPI",), 0),
        ((3, 13, 17, 3), ("",), 0),  # one channel in colour
        ((3, 13, 17, 3), NAMES[:2], 2),  # with a blank channel
        ((3, 13, 17, 3), NAMES, 3),
        ((3, 13, 17, 3), ("", "", ""), 3),
        ((3, 13, 17, 3), ("Red", "green", "Blue "), 0),
        ((3, 13, 17, 4), ("R", "G", "B", "A"), 0),
        ((3, 13, 17, 2), ALPHA, 0),
    ],
)
def test_auto_separates_channels_that_are_no_colours(shape, names, separate):
    acquisition = names and Acquisition(names)
    assert len(separate_channels("auto", shape, acquisition)) == separate
    assert separate_channels("together", shape, acquisition) == ()
    n_channels = len(names) if names and len(names) > 1 else shape[3] if len(shape) == 4 else 1
    expected = n_channels if n_channels > 1 else 0
    assert len(separate_channels("separate", shape, acquisition)) == expected


def test_unknown_choice_is_refused(cells):
    with pytest.raises(pf.InputError) as caught:
        pf.fuse(cells, decide_channels="each")
    assert caught.value.facts == {"setting": "decide_channels", "got": "each"}


def write_tiff(path, frames, names, **options):
    metadata = {"axes": "ZCYX"} | ({"Channel": {"Name": names}} if options.get("ome") else {})
    pixels = np.moveaxis(frames, 3, 1)
    tifffile.imwrite(path, pixels, photometric="minisblack", metadata=metadata, **options)


def write_zarr(path, frames, names):
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(path)
    group.create_array("0", data=np.moveaxis(frames, 3, 0), chunks=(1, 1, 20, 20))
    axes = [{"name": name} for name in "czyx"]
    channels = [{"label": name} for name in names]
    group.attrs["ome"] = {
        "version": "0.5",
        "multiscales": [{"axes": axes, "datasets": [{"path": "0"}]}],
        "omero": {"channels": channels},
    }


@pytest.mark.parametrize("n_channels", [2, 3])
@pytest.mark.parametrize("kind", ["ome", "imagej", "zarr"])
def test_channels_of_microscopy_files_are_fused_separately(tmp_path, cells, kind, n_channels):
    frames, names = cells[..., :n_channels], NAMES[:n_channels]
    if kind == "zarr":
        write_zarr(tmp_path / "cells.ome.zarr", frames, names)
    else:
        write_tiff(tmp_path / "cells.ome.tif", frames, names, **{kind: True})
    stack = pf.read_stack(next(tmp_path.iterdir()))
    result = pf.fuse(stack)
    assert_channels_alone(result, frames)
    assert not result.image[..., n_channels:].any()
    found = [each["name"] for each in result.report["separate_channels"]]
    assert found == ([""] * n_channels if kind == "imagej" else [*names])
    result.save(tmp_path / "fused.ome.tif")
    np.testing.assert_array_equal(
        tifffile.imread(tmp_path / "fused.ome.tif"), np.moveaxis(result.image[..., :n_channels], 2, 0)
    )


def test_command_separates_channels_and_says_so(tmp_path, cells, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tiff("cells.ome.tif", cells[..., :2], NAMES[:2], ome=True)
    plan = run("fuse", "cells.ome.tif", "-o", "a.ome.tif", "--dry-run")
    assert "2 channels are fused separately" in plan.out + plan.err
    options = ["--labels", "labels.png", "--report", "a.json", "--max-memory", "700MB"]
    ran = run("fuse", "cells.ome.tif", "-o", "a.ome.tif", *options)
    assert ran.code == 0, ran.err
    assert "2 channels separately" in ran.out + ran.err
    assert "Hot pixels repaired: 1 in all frames" in ran.out + ran.err
    expected = pf.fuse(pf.read_stack("cells.ome.tif"))
    np.testing.assert_array_equal(tifffile.imread("a.ome.tif"), np.moveaxis(expected.image[..., :2], 2, 0))
    report = json.loads((tmp_path / "a.json").read_text())
    assert [each["name"] for each in report["separate_channels"]] == list(NAMES[:2])
    assert run("fuse", "--from-report", "a.json", "-o", "again.ome.tif").code == 0
    assert (tmp_path / "again.ome.tif").read_bytes() == (tmp_path / "a.ome.tif").read_bytes()
    ran = run("fuse", "cells.ome.tif", "-o", "b.ome.tif", "--decide-channels", "together")
    assert ran.code == 0, ran.err
    assert "separately" not in ran.out + ran.err
    assert run("fuse", "cells.ome.tif", "-o", "c.ome.tif", "--decide-channels", "each").code == 2


def test_other_sets_of_frames_follow_the_labels_of_separate_channels(tmp_path, cells, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tiff("cells.ome.tif", cells, NAMES, ome=True)
    tifffile.imwrite("other.tif", cells[::-1, ..., 0], photometric="minisblack")
    ran = run(
        *("fuse", "cells.ome.tif", "-o", "a.ome.tif", "--labels", "labels.png"),
        *("--apply-to", "other.tif", "--apply-output", "b.tif", "--exposure", "off", "--hot-pixels", "off"),
    )
    assert ran.code == 0, ran.err
    stack = pf.read_stack("cells.ome.tif")
    result = pf.fuse(stack, exposure="off", hot_pixels="off")
    expected = np.take_along_axis(cells[::-1, ..., 0], result.labels[None].astype(int), axis=0)[0]
    np.testing.assert_array_equal(tifffile.imread("b.tif"), expected)
    np.testing.assert_array_equal(pf.apply(result, cells[::-1, ..., 0]), expected)


@pytest.mark.parametrize("layer", ["votes", "log_odds"])
def test_votes_and_log_odds_need_channels_that_are_fused_together(cells, layer):
    with pytest.raises(pf.InputError) as caught:
        pf.fuse(cells, decide_channels="separate", maps=("labels", layer))
    assert caught.value.facts == {"setting": "maps", "got": layer}
    assert getattr(pf.fuse(cells, maps=(layer,)), layer) is not None


def test_only_wanted_maps_are_returned_and_do_not_depend_on_the_others(cells):
    every = pf.fuse(cells, decide_channels="separate")
    labels = pf.fuse(cells, decide_channels="separate", maps=("labels",))
    assert labels.confidence is labels.depth is labels.never_in_focus is None
    np.testing.assert_array_equal(labels.labels, every.labels)
    assert pf.fuse(cells, decide_channels="separate", maps=()).labels is None


def test_slabs_of_separate_channels(cells):
    frames = np.concatenate([cells, cells[1:]])
    result = pf.fuse(frames, decide_channels="separate", slabs=(3, 1))
    assert_channels_alone(result, frames, slabs=(3, 1))
    for c in range(3):
        np.testing.assert_array_equal(result.slabs[..., c], pf.fuse(frames[..., c], slabs=(3, 1)).slabs)
    assert (result.labels.shape, result.confidence) == (SHAPE, None)


def test_channels_are_aligned_together(cells):
    frames = np.tile(cells, (1, 4, 4, 1))
    frames[2] = np.roll(frames[2], 2, axis=1)
    aligned = pf.align(frames, "shift")
    assert aligned.model == "shift"
    result = pf.fuse(frames, align="shift", decide_channels="separate", hot_pixels="off")
    expected = pf.fuse(aligned.frames, decide_channels="separate", hot_pixels="off")
    np.testing.assert_array_equal(result.image, expected.image)


def test_aligned_frames_in_memory_replace_those_of_the_stack(cells):
    """Repaired channels too: otherwise a command would need twice the memory."""
    from panfocus.methods import get_method
    from panfocus.pipeline import process_stack

    frames = np.tile(cells, (1, 4, 4, 1))
    frames[2] = np.roll(frames[2], 2, axis=1)
    frames[:, 70, 90, 1] = 60000
    expected = pf.fuse(frames, align="shift", decide_channels="separate")
    assert expected.report["separate_channels"][1]["hot_pixels"]["fixed"]

    def allocate(shape, dtype):
        raise AssertionError("new memory for aligned frames")

    stack = Stack(frames, ("a", "b", "c"))
    options = {"align": "shift", "decide_channels": "separate"}
    fusion = process_stack(stack, get_method("panfocus"), **options, overwrite=True, allocate=allocate)
    np.testing.assert_array_equal(fusion.result.image, expected.image)


def test_frames_with_replaced_channels_are_indexed_like_arrays(cells):
    brighter = cells[..., 1] + 7
    frames = ReplacedChannels(cells, {1: brighter})
    expected = np.stack([cells[..., 0], brighter, cells[..., 2]], axis=-1)
    np.testing.assert_array_equal(frames[1], expected[1])
    np.testing.assert_array_equal(frames[:, 3:9, 5:20], expected[:, 3:9, 5:20])
    for c in range(3):
        np.testing.assert_array_equal(channel_of(ReplacedChannels(frames, {}), c)[:], expected[..., c])


def test_lazy_channels_have_the_bits_of_memory(cells):
    da = pytest.importorskip("dask.array")
    frames = np.tile(cells, (1, 5, 6, 1))
    lazy = pf.fuse(da.from_array(frames, chunks=(1, 90, 100, 3)), decide_channels="separate")
    eager = pf.fuse(frames, decide_channels="separate")
    names = ("image", *MAPS)
    for name, found in zip(names, da.compute(*(getattr(lazy, name) for name in names)), strict=True):
        np.testing.assert_array_equal(found, getattr(eager, name))
        assert found.dtype == getattr(lazy, name).dtype == getattr(eager, name).dtype
    facts = [each["hot_pixels"] for each in lazy.report["separate_channels"]]
    assert facts == [each["hot_pixels"] for each in eager.report["separate_channels"]]
    only = pf.fuse(da.from_array(frames), decide_channels="separate", maps=("depth",))
    assert (only.labels, only.confidence) == (None, None)
    with pytest.raises(pf.InputError):
        pf.fuse(da.from_array(frames), decide_channels="separate", maps=("votes",))


def test_alpha_of_photographs_follows_the_colours(cells):
    """Arrays with 2 or 4 channels stay photographs: alpha has no part in the decision."""
    frames = np.concatenate([cells, cells[::-1, ..., :1]], axis=3)
    colours = pf.fuse(frames[..., :3], maps=("votes", "labels"))
    result = pf.fuse(frames)
    np.testing.assert_array_equal(result.labels, colours.labels)
    np.testing.assert_array_equal(result.image[..., 3], pf.apply(colours, frames[..., 3]))


def test_stack_whose_metadata_name_colours_is_fused_like_a_photograph(cells):
    names = ("red", "green", "blue")
    stack = Stack(cells, ("a", "b", "c"), metadata=Metadata(acquisition=Acquisition(names)))
    np.testing.assert_array_equal(pf.fuse(stack).image, pf.fuse(cells).image)

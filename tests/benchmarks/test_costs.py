"""Costs of a store, the input of the cluster model."""

import pytest

pytest.importorskip("zarr")

from benchmarks._costs import _store_cost
from benchmarks.tiled_store import write_store


def test_read_compute_and_write_times_of_a_store_are_separated(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.tiled_store.PERIOD", 512)  # a small texture is quick to make
    write_store(tmp_path / "stack.ome.zarr", 600, 2)
    cost = _store_cost(tmp_path / "stack.ome.zarr", 10**9)
    assert (cost.slices, cost.megapixels) == (2, 0.36)
    value_range, search, measure, fuse, pyramid = cost.stages
    assert [stage.tasks for stage in cost.stages] == [1] * 5
    assert min(stage.read for stage in (value_range, search, measure, fuse)) > 0
    assert min(stage.compute for stage in (value_range, search, measure, fuse)) > 0
    assert min(fuse.write, pyramid.write) > 0
    assert cost.client > 0

import numpy as np
import pytest

from panfocus._intensity import IntensityScale
from panfocus.errors import InputError


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_integers_survive_a_round_trip(dtype):
    levels = np.arange(np.iinfo(dtype).max + 1).astype(dtype)
    scale = IntensityScale.of(levels.dtype)
    unit = scale.to_unit(levels)
    assert (unit[0], unit[-1]) == (0, 1)
    back = scale.from_unit(unit)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, levels)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_stay_unchanged_outside_the_range(dtype):
    values = np.array([-0.25, 0.0, 1 / 3, 1.0, 1.5], dtype)
    scale = IntensityScale.of(values.dtype)
    assert scale.to_unit(values).dtype == dtype
    np.testing.assert_array_equal(scale.from_unit(scale.to_unit(values)), values)


def test_to_unit_returns_a_copy():
    frame = np.zeros(3)
    IntensityScale.of(frame.dtype).to_unit(frame)[0] = 1
    assert frame[0] == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_integers_are_rounded_and_clipped(dtype):
    white = np.iinfo(dtype).max
    unit = np.array([-0.1, 0.4 / white, 0.6 / white, 1 - 0.4 / white, 1.1])
    values = IntensityScale.of(np.dtype(dtype)).from_unit(unit)
    np.testing.assert_array_equal(values, [0, 0, 1, white, white])


def test_other_black_and_white_levels():
    scale = IntensityScale(black=64, white=4095, dtype=np.dtype(np.uint16))
    values = np.array([64, 1000, 4095], np.uint16)
    np.testing.assert_allclose(scale.to_unit(values), (values - 64.0) / 4031, rtol=1e-6)
    np.testing.assert_array_equal(scale.from_unit(scale.to_unit(values)), values)


@pytest.mark.parametrize("dtype", ["int16", "float16", "bool", "complex64"])
def test_unsupported_dtype_is_rejected(dtype):
    with pytest.raises(InputError) as caught:
        IntensityScale.of(np.dtype(dtype))
    assert caught.value.facts["got"] == dtype

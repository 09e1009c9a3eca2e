"""Check errors by their class and facts."""

from contextlib import contextmanager

import pytest

from panfocus.errors import FileError


@contextmanager
def rejected(path, error=FileError, **facts):
    """Expect an error of one line that names a file and has these facts."""
    with pytest.raises(error) as caught:
        yield caught
    expected = {"file": str(path), **facts}
    assert {name: caught.value.facts.get(name) for name in expected} == expected
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)

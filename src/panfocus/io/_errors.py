"""One line, with the file's name, for whatever goes wrong on reading it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from panfocus.errors import FileError


@contextmanager
def errors_that_name(path: Path) -> Iterator[None]:
    """Turn every error inside into a FileError whose text begins with `path`.

    Decoders raise exceptions of all kinds on a bad file; only a lack of memory is not the file's fault.
    """
    try:
        yield
    except MemoryError:
        raise
    except FileError as error:
        raise FileError(f"{path}: {error}") from error
    except Exception as error:
        # Of the OSErrors, those of the system carry a text of their own; a decoder's do not.
        reason = getattr(error, "strerror", None) or f"damaged, cut off or not what its name says ({error})"
        raise FileError(f"{path}: {reason[0].lower()}{reason[1:]}") from error

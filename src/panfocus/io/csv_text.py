"""The text of tables, in the encodings that spreadsheets give it."""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

from panfocus.errors import FileError
from panfocus.io._file_errors import check_regular, errors_that_name


def read_table_text(path: Path) -> str:
    """Read a text in UTF-8, or in UTF-16 if its first bytes say so; what is neither, nothing tells."""
    with errors_that_name(path):
        check_regular(path)
        with path.open("rb") as file:
            head = file.read(len(BOM_UTF16_LE))
        try:
            return path.read_text("utf-16" if head in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig")
        except UnicodeError as error:
            raise FileError("not UTF-8; save it as CSV UTF-8") from error

"""How people write sizes of memory."""

import re

from panfocus.errors import InputError


def parse_size(option: str, text: str) -> int:
    """Return the bytes in a size as people write it: 500MB, 2GB, 1.5GiB, or a plain number of bytes."""
    match = re.fullmatch(r"(\d{1,18}(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?", text.strip().lower())
    if not match:
        raise InputError(f"{option} {text!r} is not a size; write it like 500MB, 2GB or 1.5GiB")
    number, prefix, binary = match.groups()
    unit: int = (1024 if binary else 1000) ** (" kmgt".index(prefix or " "))
    return int(float(number) * unit)


def format_size(size: int) -> str:
    """Write a size for people."""
    return f"{size / 1e6:,.0f} MB"

"""Pages that are one file: what they share, and the policy by which they ask nobody for anything."""

import base64
import hashlib
from importlib.resources import as_file, files

from panfocus.io.atomic_files import read_text


def open_page(package: str, *, script: str = "", pictures: str = "data:") -> str:
    """Return a package's page, its head and style filled in, the rest of its places still open.

    It may run this script and no other, and show pictures of these sources: by default those that are in it.
    """
    style = read_part("panfocus.show", "base.css") + read_part(package, "page.css")
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src {pictures}; "
        + (f"script-src {_source_hash(script)}; " if script else "")
        + f"style-src {_source_hash(style)}"
    )
    head = fill(read_part("panfocus.show", "head.html"), policy=policy, style=style)
    return fill(read_part(package, "page.html"), head=head)


def fill(page: str, **contents: str) -> str:
    """Put contents into the places of a page that bear their names."""
    for name, content in contents.items():
        page = page.replace(f"{{{{ {name} }}}}", content)
    return page


def read_part(package: str, name: str) -> str:
    """Read a file of a package's folder `page`."""
    with as_file(files(package) / "page" / name) as path:
        return read_text(path)


def _source_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

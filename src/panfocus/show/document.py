"""HTML pages in a single file, with a content security policy that allows no network access."""

import base64
import hashlib
from importlib.resources import as_file, files

from panfocus.io.atomic_files import read_text


def open_page(package: str, *, script: str = "", pictures: str = "data:") -> str:
    """Return the template of a package's page with head and style filled in.

    The page may run only `script`, and show pictures only from these sources, by default embedded ones.
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
    """Replace the placeholders of a page by contents."""
    for name, content in contents.items():
        page = page.replace(f"{{{{ {name} }}}}", content)
    return page


def read_part(package: str, name: str) -> str:
    """Return a file of a package's folder `page`."""
    with as_file(files(package) / "page" / name) as path:
        return read_text(path)


def _source_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

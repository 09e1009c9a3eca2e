"""Make screenshots of the page with the shipped sample, by the steps of its tests.

    python scripts/make_page_images.py [FOLDER]

Screenshots for the docs go to docs/images. With FOLDER, every state of the page is written there, at three
sizes, light and dark.
"""

import sys
import tempfile
from importlib.resources import as_file, files
from io import BytesIO
from itertools import product
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "app")]

from app_server import running_server  # noqa: E402
from page_steps import Visit, walk_states  # noqa: E402

from browser import launch_chromium  # noqa: E402

SIZES = ((1280, 800), (2560, 1440), (390, 844))
SCHEMES = ("light", "dark")
DOCUMENTED = {"place": "app-look.jpg", "retouch": "app-retouch.jpg", "learn": "app-learn.jpg"}


def picture(visit: Visit) -> Image.Image:
    """Return a screenshot."""
    return Image.open(BytesIO(visit.page.screenshot()))


def main(arguments: list[str]) -> None:
    """Write the screenshots."""
    looks = list(product(SIZES, SCHEMES)) if arguments else [(SIZES[0], SCHEMES[0])]
    with (
        tempfile.TemporaryDirectory() as place,
        as_file(files("panfocus") / "data" / "sample") as sample,
        running_server(Path(place) / "work", sample) as server,
        launch_chromium() as chromium,
    ):
        for (width, height), scheme in looks:
            visit = Visit(chromium, server.address, width=width, height=height, color_scheme=scheme)
            for name in walk_states(visit, sorted(sample.glob("*.jpg"))):
                seen = picture(visit).convert("RGB")
                if arguments:
                    seen.save(Path(arguments[0]) / f"{width}-{scheme}-{name}.png")
                if (width, scheme) == (SIZES[0][0], SCHEMES[0]) and name in DOCUMENTED:
                    seen.save(ROOT / "docs" / "images" / DOCUMENTED[name], quality=82, optimize=True)
                print(width, scheme, name, visit.complaints)
            visit.close()


if __name__ == "__main__":
    main(sys.argv[1:])

"""The page of a reproduction in a browser."""

import pytest

from panfocus.reproduce import write_report

# Mean brightness of the opaque pixels of the first diagram.
DIAGRAM_BRIGHTNESS = """async () => {
    const image = new Image();
    image.src = document.querySelector('#diagram img').src;
    await image.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
    let total = 0, count = 0;
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 200) { total += pixels[i]; count += 1; }
    return total / count;
}"""


@pytest.fixture
def page(open_file, reproduction, tmp_path):
    write_report(reproduction, tmp_path)
    return open_file(tmp_path / "index.html")


def test_page_is_one_file_and_fits_a_narrow_window(page):
    broken = page.evaluate(
        "[...document.images].filter((image) => !image.complete || !image.naturalWidth)"
        ".map((image) => image.alt)"
    )
    assert broken == []
    assert page.context.requests == [page.url]
    page.set_viewport_size({"width": 500, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")  # tables scroll, not the page


def test_page_and_diagrams_follow_light_and_dark(page):
    def get_colours(scheme):
        page.emulate_media(color_scheme=scheme)
        page.reload()
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return background, page.evaluate(DIAGRAM_BRIGHTNESS)

    light, dark = get_colours("light"), get_colours("dark")
    assert light[0] == "rgb(255, 255, 255)"
    assert dark[0] == "rgb(22, 24, 28)"
    assert light[1] > dark[1] + 100  # mostly the filling of the blocks

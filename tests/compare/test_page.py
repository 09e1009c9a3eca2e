"""The page as people use it, in a browser."""

import time

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

METHODS = ["coupled:stride=4", "coupled:stride=7", "average"]


@pytest.fixture
def page(browser, report):
    browser.open(report / "index.html")
    yield browser
    assert browser.logged("browser") == []  # no error in the script, nothing refused by the policy


def wait_until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def all_of(page, selector):
    return page.driver.find_elements(By.CSS_SELECTOR, selector)


def click(page, node):
    page.ask("arguments[0].click()", node)


def open_scene(page, identity):
    scene = page.driver.find_element(By.ID, f"scene-{identity}")
    click(page, scene.find_element(By.TAG_NAME, "summary"))
    wait_until(lambda: scene.find_elements(By.TAG_NAME, "img"))
    return scene


def methods_in_order(page):
    first = all_of(page, "tbody")[0]
    return [cell.text for cell in first.find_elements(By.TAG_NAME, "th")]


def header(page, text):
    (found,) = (
        button for button in all_of(page, "section:first-of-type > .wide thead button") if button.text == text
    )
    return found


def shown_places(page, scene):
    """Where each picture lies in its frame: how far it is moved, and its scale."""
    return page.ask(
        "[...arguments[0].querySelectorAll('.view')].map((view) => {"
        " const frame = view.getBoundingClientRect(), image = view.firstChild.getBoundingClientRect();"
        " return [image.left - frame.left, image.top - frame.top, image.width / frame.width]"
        "   .map((number) => Math.round(number * 100) / 100); })",
        scene,
    )


def in_step(page, scene):
    places = shown_places(page, scene)
    assert len(places) > 5
    assert all(place == places[0] for place in places)
    return places[0]


def test_every_picture_loads_and_no_request_leaves_the_file(page, report):
    assert not all_of(page, "img")  # none is made before its scene is opened
    for identity, expected in {
        "0-0": 3 + 3 + 2 + 3,
        "0-1": 11,
        "0-2": 11,
        "1-0": 2 + 3 + 2,
        "1-1": 6,
    }.items():
        scene = open_scene(page, identity)
        pictures = scene.find_elements(By.TAG_NAME, "img")
        assert len(pictures) == expected
        wait_until(lambda shown=pictures: all(page.ask("arguments[0].complete", image) for image in shown))
        assert all(page.ask("arguments[0].naturalWidth", image) == 33 for image in pictures)
    requests = page.requests()
    assert (report / "index.html").as_uri() in requests
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in requests if url.startswith("file:")]) == 1


def test_the_policy_keeps_requests_in(page):
    page.ask("document.body.append(Object.assign(new Image(), {src: 'https://example.org/x.png'}))")
    wait_until(lambda: (seen := page.logged("browser")) and "Content Security Policy" in seen[0]["message"])


def test_a_click_on_a_heading_sorts_best_first_and_then_worst_first(page):
    means = page.ask("Object.entries(report.groups[0].summary.MSE).map(([name, of]) => [of.mean, name])")
    best_first = [name for _, name in sorted(means)]
    assert methods_in_order(page) == METHODS
    header(page, "MSE ↓").click()
    assert methods_in_order(page) == best_first
    assert all_of(page, "th[aria-sort=ascending]")[0].text == "MSE ↓"
    header(page, "MSE ↓").click()
    assert methods_in_order(page) == best_first[::-1]
    header(page, "NMI ↑").send_keys(Keys.ENTER)
    nmi = page.ask("Object.entries(report.groups[0].summary.NMI).map(([name, of]) => [-of.mean, name])")
    assert methods_in_order(page) == [name for _, name in sorted(nmi)]
    assert len(all_of(page, "th[aria-sort]")) == 1
    header(page, "Method").click()
    assert methods_in_order(page) == METHODS


def test_the_best_mean_is_marked_and_significance_follows_the_choice(page):
    best = page.ask(
        "Object.entries(report.groups[0].summary.MSE).sort((a, b) => a[1].mean - b[1].mean)[0][0]"
    )
    rows = all_of(page, "tbody")[0].find_elements(By.TAG_NAME, "tr")
    cells = {
        row.find_element(By.TAG_NAME, "th").text: row.find_elements(By.TAG_NAME, "td")[0] for row in rows
    }
    assert [name for name, cell in cells.items() if "best" in cell.get_attribute("class")] == [best]

    def notes():
        rows = all_of(page, "tbody")[0].find_elements(By.TAG_NAME, "tr")
        return [row.find_element(By.TAG_NAME, "td").text for row in rows]

    assert ["p " in note for note in notes()] == [False, True, True]
    page.ask(
        "((select) => { select.value = 'average'; select.dispatchEvent(new Event('change')); })"
        "(document.querySelector('select'))"
    )
    assert ["p " in note for note in notes()] == [True, True, False]


def test_zoom_and_move_are_in_step(page):
    scene = open_scene(page, "0-0")
    viewer = scene.find_element(By.CLASS_NAME, "viewer")
    page.ask("arguments[0].scrollIntoView()", viewer)
    assert in_step(page, scene) == [0, 0, 1]
    view = viewer.find_elements(By.CLASS_NAME, "view")[1]
    width = page.ask("arguments[0].clientWidth", view)

    ActionChains(page.driver).scroll_from_origin(ScrollOrigin.from_element(view), 0, -400).perform()
    wait_until(lambda: in_step(page, scene)[2] == 4)
    assert in_step(page, scene)[0] == pytest.approx(-1.5 * width, abs=2)  # the place under the pointer stays

    before = in_step(page, scene)
    ActionChains(page.driver).move_to_element(view).click_and_hold().move_by_offset(
        30, -20
    ).release().perform()
    after = in_step(page, scene)
    assert [b - a for a, b in zip(before, after, strict=True)] == pytest.approx([30, -20, 0], abs=0.1)

    ActionChains(page.driver).double_click(view).perform()
    assert in_step(page, scene) == [0, 0, 1]


def test_the_keyboard_zooms_and_moves(page):
    scene = open_scene(page, "0-0")
    viewer = scene.find_element(By.CLASS_NAME, "viewer")
    viewer.send_keys("+")
    viewer.send_keys("+")
    left, top, scale = in_step(page, scene)
    assert scale == 2.25
    viewer.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    moved = in_step(page, scene)
    assert moved[0] < left
    assert moved[1] < top
    for _ in range(30):
        viewer.send_keys(Keys.ARROW_LEFT)
    assert in_step(page, scene)[0] == 0  # never beyond the picture
    viewer.send_keys("-")
    assert in_step(page, scene)[2] == 1.5
    viewer.send_keys("0")
    assert in_step(page, scene) == [0, 0, 1]


def test_enlarged_pixels_stay_squares_and_scenes_zoom_on_their_own(page):
    first, second = open_scene(page, "0-0"), open_scene(page, "0-1")
    first.find_element(By.CLASS_NAME, "viewer").send_keys("++++++")
    assert in_step(page, first)[2] > 2
    assert in_step(page, second) == [0, 0, 1]
    image = first.find_element(By.TAG_NAME, "img")
    assert page.ask("getComputedStyle(arguments[0]).imageRendering", image) == "pixelated"


def test_the_wheel_scrolls_away_from_a_picture_that_is_not_enlarged(page):
    scene = open_scene(page, "0-0")
    view = scene.find_element(By.CLASS_NAME, "view")
    page.ask("arguments[0].scrollIntoView()", view)
    before = page.ask("scrollY")
    ActionChains(page.driver).scroll_from_origin(ScrollOrigin.from_element(view), 0, 120).perform()
    wait_until(lambda: page.ask("scrollY") > before)
    assert in_step(page, scene) == [0, 0, 1]


def test_every_score_is_a_dot_that_opens_its_scene(page):
    dots = all_of(page, "section:first-of-type circle")
    assert len(dots) == 3 * 3 * 4 + 3 * 2  # and the time of the two methods of ours
    (dot, *_) = (dot for dot in dots if page.ask("arguments[0].dataset.scene", dot) == "cup")
    page.ask("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", dot)
    assert page.ask("document.getElementById('scene-0-2').open")


def test_legends_name_the_frames_and_the_scale_of_errors(page):
    scene = open_scene(page, "0-2")
    frames, errors = (legend.text for legend in scene.find_elements(By.CLASS_NAME, "legend"))
    assert "cup-A.png" in frames
    assert "cup-B.png" in frames
    assert "16 of 255" in errors


def test_a_narrow_window_scrolls_tables_but_not_the_page(page):
    page.driver.set_window_size(500, 800)
    try:
        open_scene(page, "0-0")
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    finally:
        page.driver.set_window_size(1200, 900)

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


@pytest.fixture
def wide_page(browser, wide_report):
    browser.open(wide_report / "index.html")
    yield browser
    assert browser.logged("browser") == []


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
    # Columns differ by parts of a pixel.
    assert all(place == pytest.approx(places[0], abs=0.1) for place in places)
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


def cells(page, column=0):
    """Return the cells of a column in the first table, by method."""
    rows = all_of(page, "tbody")[0].find_elements(By.TAG_NAME, "tr")
    return {
        row.find_element(By.TAG_NAME, "th").text: row.find_elements(By.TAG_NAME, "td")[column] for row in rows
    }


def test_the_best_mean_is_marked_lightly_where_it_may_be_chance(page):
    best = page.ask(
        "Object.entries(report.groups[0].summary.MSE).sort((a, b) => a[1].mean - b[1].mean)[0][0]"
    )
    marks = {name: cell.get_attribute("class").split() for name, cell in cells(page).items()}
    assert [name for name, mark in marks.items() if "best" in mark] == [best]
    assert "proven" not in marks[best]
    text = page.driver.find_element(By.CSS_SELECTOR, "section > .wide + .muted").text
    assert "With 3 scenes the p of 3 methods cannot fall below 0.75" in text


def test_a_lead_over_every_other_is_marked_strongly(page):
    page.ask(
        "(window.shown = summaryTable({name: 'x', scenes: Array(9).fill({}), summary: {MSE: {"
        "  'coupled:stride=4': {n: 9, mean: 1, rank: 1, rank_n: 5, best: true, proven: true, against: {}},"
        "  average: {n: 8, mean: 2, rank: 2, rank_n: 5, best: false, proven: false,"
        "    against: {'coupled:stride=4': {p: 0.01, better: false}}}}}}, ['MSE']), null)"
    )
    classes, text = (
        page.ask(f"[...shown[1].querySelectorAll('td')].map((cell) => cell.{of})")
        for of in ("className", "textContent")
    )
    assert "best proven" in classes[0]
    assert "best" not in classes[2]
    assert text[2] == "2.000▼n 8"
    page.ask("(document.body.append(...shown), shown[0].querySelector('input').click())")
    assert page.ask("shown[1].querySelectorAll('td')[2].textContent") == "2.000▼n 8rank 2.0 on 5p 0.010"


def test_ranks_and_p_are_shown_on_request_and_follow_the_choice(page):
    def notes():
        return [cell.text for cell in cells(page).values()]

    assert not any("rank" in note or "p " in note for note in notes())
    page.driver.find_element(By.CSS_SELECTOR, ".controls input").click()
    assert all("rank" in note for note in notes())
    assert ["p " in note for note in notes()] == [False, True, True]
    page.ask(
        "((select) => { select.value = 'average'; select.dispatchEvent(new Event('change')); })"
        "(document.querySelector('select'))"
    )
    assert ["p " in note for note in notes()] == [True, True, False]
    assert "p " in cells(page)["coupled:stride=4"].get_attribute("title")


def visible_keys(page, selector):
    return [node.text.split()[0] for node in all_of(page, selector) if node.is_displayed()]


def test_metrics_are_chosen_for_all_tables_and_plots(page):
    headings = "section:first-of-type > .wide thead tr + tr th + th"
    keys = ["MSE", "PSNR", "NMI", "QABF", "s/MP"]
    assert visible_keys(page, headings) == keys
    all_of(page, ".chooser summary")[0].click()
    all_of(page, ".chooser input[value=PSNR]")[0].click()
    keys.remove("PSNR")
    assert all_of(page, ".chooser summary")[0].text == "Metrics: 4 of 5 shown"
    assert visible_keys(page, headings) == keys
    assert visible_keys(page, "section:first-of-type .plots figcaption") == keys
    scene = open_scene(page, "0-0")  # made after the choice
    table = scene.find_element(By.TAG_NAME, "table")
    assert [cell.text for cell in table.find_elements(By.CSS_SELECTOR, "tbody tr:last-child td")][1] == ""
    assert all_of(page, ".kinds th[data-keys]")[0].get_attribute("colspan") == "1"
    kind = next(
        button for button in all_of(page, ".chooser button") if button.text == "against the reference"
    )
    kind.click()
    assert visible_keys(page, headings) == ["MSE", "PSNR", "NMI", "QABF", "s/MP"]
    kind.click()
    assert visible_keys(page, headings) == ["NMI", "QABF", "s/MP"]


def test_of_many_metrics_those_to_read_first_are_shown(wide_page):
    page = wide_page
    headings = "section > .wide thead tr + tr th + th"
    assert visible_keys(page, headings) == ["SSIM", "MSE", "PSNR", "PSNR_RGB", "NMI", "QABF", "QCB"]
    assert page.ask(
        "document.querySelector('.wide').scrollWidth <= document.querySelector('.wide').clientWidth"
    )
    assert page.ask("chosen.size < KEYS.length")


def test_the_first_column_stays_while_a_wide_table_is_scrolled(wide_page):
    page = wide_page
    for box in all_of(page, ".chooser input:not(:checked)"):
        click(page, box)
    wide = all_of(page, ".wide")[0]
    assert page.ask("arguments[0].scrollWidth > arguments[0].clientWidth", wide)
    page.ask("arguments[0].scrollLeft = 500", wide)
    name, value = (wide.find_element(By.CSS_SELECTOR, f"tbody {cell}") for cell in ("th", "td"))
    left = page.ask("arguments[0].getBoundingClientRect().left", wide)
    assert page.ask("arguments[0].getBoundingClientRect().left", name) - left < 3
    assert page.ask("arguments[0].getBoundingClientRect().left", value) < left


def test_twelve_methods_have_twelve_colours(wide_page):
    colours = wide_page.ask("methods.map(colourOf)")
    assert len(set(colours)) == len(colours) == 12


def test_the_metrics_are_explained_below_the_table(page):
    all_of(page, ".about summary")[0].click()
    text = all_of(page, ".about dl")[0].text
    assert "QABF ↑" in text
    assert "edges of the sources that the fused image keeps" in text


def wheel(page, view, amount, *, key=None):
    chain = ActionChains(page.driver)
    if key:
        chain.key_down(key)
    chain.scroll_from_origin(ScrollOrigin.from_element(view), 0, amount)
    if key:
        chain.key_up(key)
    chain.perform()


@pytest.fixture
def opened(page):
    """Open the first scene; return it, its viewer and one of the pictures."""
    scene = open_scene(page, "0-0")
    viewer = scene.find_element(By.CLASS_NAME, "viewer")
    page.ask("arguments[0].scrollIntoView()", viewer)
    assert in_step(page, scene) == [0, 0, 1]
    return scene, viewer, viewer.find_elements(By.CLASS_NAME, "view")[1]


def test_the_wheel_scrolls_the_page_until_a_click_into_a_picture(page, opened):
    scene, _, view = opened
    page.ask("scrollTo(0, 0)")
    page.ask("arguments[0].scrollIntoView({block: 'end'})", view)
    before = page.ask("scrollY")
    wheel(page, view, -100)
    wait_until(lambda: page.ask("scrollY") < before)
    assert in_step(page, scene) == [0, 0, 1]
    view.click()
    before = page.ask("scrollY")
    wheel(page, view, -200)
    wait_until(lambda: in_step(page, scene)[2] == 2)
    assert page.ask("scrollY") == before
    ActionChains(page.driver).send_keys(Keys.ESCAPE).perform()
    wheel(page, view, -100)
    wait_until(lambda: page.ask("scrollY") < before)
    assert in_step(page, scene)[2] == 2


def test_zoom_and_move_are_in_step(page, opened):
    scene, _, view = opened
    width = page.ask("arguments[0].clientWidth", view)
    wheel(page, view, -400, key=Keys.CONTROL)
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


def test_two_fingers_zoom(page, opened):
    scene, _, view = opened
    box = page.ask(
        "(({x, y, width, height}) => [x + width / 2, y + height / 2])(arguments[0].getBoundingClientRect())",
        view,
    )

    def touch(kind, *distances):
        points = [{"x": box[0] + d, "y": box[1], "id": i} for i, d in enumerate(distances)]
        page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    try:
        touch("touchStart", -20)
        touch("touchStart", -20, 20)
        for distance in (25, 30, 40, 50, 60):
            touch("touchMove", -distance, distance)
        touch("touchEnd")
        wait_until(lambda: in_step(page, scene)[2] == pytest.approx(3, abs=0.2))
    finally:
        page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_buttons_zoom_and_say_how_large_a_pixel_is(page, opened):
    scene, _, view = opened
    smaller, larger, pixel, whole = scene.find_elements(By.CSS_SELECTOR, ".toolbar button")
    shown = scene.find_element(By.TAG_NAME, "output")
    whole_picture = page.ask("100 * arguments[0].clientWidth * devicePixelRatio / 33", view)
    assert shown.text == f"{whole_picture:.0f} %"
    click(page, larger)
    assert in_step(page, scene)[2] == 1.5
    click(page, smaller)
    assert in_step(page, scene)[2] == 1
    click(page, pixel)
    assert shown.text == "100 %"
    image = view.find_element(By.TAG_NAME, "img")
    assert page.ask("arguments[0].getBoundingClientRect().width * devicePixelRatio", image) == pytest.approx(
        33, abs=0.05
    )
    left, _, scale = in_step(page, scene)  # smaller than its frame, it stands in the middle of it
    assert left == pytest.approx(page.ask("arguments[0].clientWidth", view) * (1 - scale) / 2, abs=2)
    click(page, whole)
    assert in_step(page, scene) == [0, 0, 1]


def lefts(page, scene, heading):
    """Where the pictures below a heading begin, by title."""
    return page.ask(
        "Object.fromEntries([...[...arguments[0].querySelectorAll('h4')]"
        "  .find((node) => node.textContent === arguments[1]).parentElement.querySelectorAll('h4 ~ .row')]"
        "  .find((row) => { let node = row; while (node.tagName !== 'H4') node = node.previousElementSibling;"
        "    return node.textContent === arguments[1]; })"
        "  .querySelectorAll('figure').values().map((figure) =>"
        "    [figure.textContent, Math.round(figure.getBoundingClientRect().left)]))",
        scene,
        heading,
    )


def test_each_method_has_a_column_and_the_reference_a_place_of_its_own(page, report):
    scene = open_scene(page, "0-0")
    results, maps, errors = (
        lefts(page, scene, heading) for heading in ("Results", "Decision maps", "Error against the reference")
    )
    assert sorted(results, key=results.get) == METHODS
    assert errors == results
    assert maps == {name: results[name] for name in METHODS[:2]}
    sources = lefts(page, scene, "Sources and reference")
    assert sorted(sources, key=sources.get) == ["A", "B", "reference"]
    assert sources["reference"] == results["average"]
    assert sorted(lefts(page, open_scene(page, "1-0"), "Sources")) == ["A", "B"]


def test_pictures_grow_with_the_window(page, opened):
    _, _, view = opened
    before = page.ask("arguments[0].clientWidth", view)
    page.driver.set_window_size(1900, 900)
    try:
        wait_until(lambda: page.ask("arguments[0].clientWidth", view) > 1.4 * before)
    finally:
        page.driver.set_window_size(1200, 900)


def test_what_the_crop_leaves_out_is_marked_on_error_maps(page, opened):
    scene, viewer, _ = opened
    frames = scene.find_elements(By.CLASS_NAME, "scored")
    assert len(frames) == 3
    viewer.send_keys("++")
    for frame in frames:
        shares = page.ask(
            "((frame, image) =>"
            "  [(frame.left - image.left) / image.width, (frame.top - image.top) / image.height])"
            "(arguments[0].getBoundingClientRect(), arguments[0].previousSibling.getBoundingClientRect())",
            frame,
        )
        assert shares == pytest.approx([2 / 33, 2 / 40], abs=1e-3)
    assert "2 border pixels" in scene.find_elements(By.CLASS_NAME, "legend")[1].text


def test_plots_have_round_ticks(page):
    assert page.ask("ticksWithin(0.913, 0.988).map(({label}) => label)") == ["0.92", "0.94", "0.96", "0.98"]
    assert page.ask("ticksWithin(-3, 41).map(({label}) => label)") == ["0", "10", "20", "30", "40"]
    assert page.ask("ticksWithin(0.902, 0.9998).map(({label}) => label)") == ["0.92", "0.94", "0.96", "0.98"]
    assert page.ask("ticksWithin(2, 10).map(({label}) => label)") == ["2", "4", "6", "8", "10"]
    assert len(all_of(page, "section:first-of-type .plots figure:first-child .tick")) >= 2


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

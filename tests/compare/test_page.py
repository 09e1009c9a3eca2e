"""The page of a comparison in a browser."""

import pytest

METHODS = ["coupled:stride=4", "coupled:stride=7", "average"]
HEADINGS = "section:first-of-type > .wide thead tr + tr th + th"
PLACES = """(scene) => [...scene.querySelectorAll('.view')].map((view) => {
    const frame = view.getBoundingClientRect(), image = view.firstChild.getBoundingClientRect();
    return [image.left - frame.left, image.top - frame.top, image.width / frame.width];
})"""
# The left edges of the pictures below a heading, by title.
LEFT_EDGES = """(scene, heading) => {
    const start = [...scene.querySelectorAll('h4')].find((node) => node.textContent === heading);
    let row = start;
    while (!row.classList.contains('row')) row = row.nextElementSibling;
    return Object.fromEntries([...row.querySelectorAll('figure')].map((figure) =>
        [figure.textContent, Math.round(figure.getBoundingClientRect().left)]));
}"""


@pytest.fixture
def page(open_file, report):
    return open_file(report / "index.html")


@pytest.fixture
def wide_page(open_file, wide_report):
    return open_file(wide_report / "index.html")


@pytest.fixture
def scene(page):
    """The first scene, opened and in view."""
    opened = open_scene(page, "0-0")
    opened.locator(".viewer").evaluate("(viewer) => viewer.scrollIntoView()")
    assert get_place(opened) == pytest.approx([0, 0, 1], abs=0.01)
    return opened


def open_scene(page, identity):
    opened = page.locator(f"#scene-{identity}")
    opened.locator("summary").first.evaluate("(summary) => summary.click()")
    opened.locator("img").first.wait_for()
    return opened


def get_place(scene):
    """Return offset and scale of the pictures of a scene, which are the same for all."""
    places = scene.evaluate(PLACES)
    assert len(places) > 5
    # Columns differ by fractions of a pixel.
    assert all(place == pytest.approx(places[0], abs=0.1) for place in places)
    return places[0]


def wait_for_scale(scene, scale, tolerance=0.01):
    scene.page.wait_for_function(
        f"([scene, scale, tolerance]) => Math.abs(({PLACES})(scene)[0][2] - scale) < tolerance",
        arg=[scene.element_handle(), scale, tolerance],
    )


def list_methods(page):
    return page.locator("tbody").first.locator("th").all_inner_texts()


def sort_by(page, heading):
    return page.locator("section:first-of-type > .wide thead").get_by_role("button", name=heading, exact=True)


def list_cells(page):
    """Return the cells of the first metric in the first table."""
    return page.locator("tbody").first.locator("tr td:first-of-type").all()


def list_visible_keys(page, selector):
    return [node.inner_text().split()[0] for node in page.locator(selector).all() if node.is_visible()]


def test_every_picture_loads_and_no_request_leaves_the_file(page, report):
    assert page.locator("img").count() == 0  # pictures are created when their scene is opened
    for identity, n_pictures in {
        "0-0": 3 + 3 + 2 + 3,
        "0-1": 11,
        "0-2": 11,
        "1-0": 2 + 3 + 2,
        "1-1": 6,
    }.items():
        widths = open_scene(page, identity).evaluate(
            "(scene) => Promise.all([...scene.querySelectorAll('img')].map("
            "(image) => image.decode().then(() => image.naturalWidth)))"
        )
        assert widths == [33] * n_pictures
    assert set(page.context.requests) == {(report / "index.html").as_uri()}


def test_content_security_policy_blocks_requests(page):
    complaints = page.context.complaints
    with page.expect_console_message(lambda line: "Content Security Policy" in line.text):
        page.evaluate("document.body.append(Object.assign(new Image(), {src: 'https://example.org/x.png'}))")
    complaints.clear()


def test_heading_sorts_best_first_and_then_worst_first(page):
    means = page.evaluate("Object.entries(report.groups[0].summary.MSE).map(([name, of]) => [of.mean, name])")
    best_first = [name for _, name in sorted(means)]
    assert list_methods(page) == METHODS
    sort_by(page, "MSE ↓").click()
    assert list_methods(page) == best_first
    assert page.locator("th[aria-sort=ascending]").inner_text() == "MSE ↓"
    sort_by(page, "MSE ↓").click()
    assert list_methods(page) == best_first[::-1]
    sort_by(page, "NMI ↑").press("Enter")
    nmi = page.evaluate("Object.entries(report.groups[0].summary.NMI).map(([name, of]) => [-of.mean, name])")
    assert list_methods(page) == [name for _, name in sorted(nmi)]
    assert page.locator("th[aria-sort]").count() == 1
    sort_by(page, "Method").click()
    assert list_methods(page) == METHODS


def test_best_mean_is_marked_lightly_where_it_may_be_chance(page):
    best = page.evaluate(
        "Object.entries(report.groups[0].summary.MSE).sort((a, b) => a[1].mean - b[1].mean)[0][0]"
    )
    marks = {
        name: cell.get_attribute("class").split()
        for name, cell in zip(list_methods(page), list_cells(page), strict=True)
    }
    assert [name for name, mark in marks.items() if "best" in mark] == [best]
    assert "proven" not in marks[best]
    assert "0.75" in page.locator("section > .wide + .muted").first.inner_text()  # the smallest p of 3 scenes


def test_significant_lead_is_marked_strongly(page):
    page.evaluate(
        "(window.shown = summaryTable({name: 'x', scenes: Array(9).fill({}), summary: {MSE: {"
        "  'coupled:stride=4': {n: 9, mean: 1, rank: 1, rank_n: 5, best: true, proven: true, against: {}},"
        "  average: {n: 8, mean: 2, rank: 2, rank_n: 5, best: false, proven: false,"
        "    against: {'coupled:stride=4': {p: 0.01, better: false}}}}}}, ['MSE']), null)"
    )
    classes, text = (
        page.evaluate(f"[...shown[1].querySelectorAll('td')].map((cell) => cell.{key})")
        for key in ("className", "textContent")
    )
    assert "best proven" in classes[0]
    assert "best" not in classes[2]
    assert text[2] == "2.000▼n 8"
    page.evaluate("(document.body.append(...shown), shown[0].querySelector('input').click())")
    assert page.evaluate("shown[1].querySelectorAll('td')[2].textContent") == "2.000▼n 8rank 2.0 on 5p 0.010"


def test_ranks_and_p_values_are_shown_on_request_for_the_selected_method(page):
    def notes():
        return [cell.inner_text() for cell in list_cells(page)]

    assert not any("rank" in note or "p " in note for note in notes())
    page.locator(".controls input").first.click()
    assert all("rank" in note for note in notes())
    assert ["p " in note for note in notes()] == [False, True, True]
    page.locator("select").first.select_option("average")
    assert ["p " in note for note in notes()] == [True, True, False]
    assert "p " in list_cells(page)[0].get_attribute("title")


def test_metrics_are_selected_for_all_tables_and_plots(page):
    keys = ["MSE", "PSNR", "NMI", "QABF", "s/MP"]
    assert list_visible_keys(page, HEADINGS) == keys
    page.locator(".metric-selection summary").click()
    page.locator(".metric-selection input[value=PSNR]").click()
    keys.remove("PSNR")
    assert "4 of 5" in page.locator(".metric-selection summary").inner_text()
    assert list_visible_keys(page, HEADINGS) == keys
    assert list_visible_keys(page, "section:first-of-type .plots figcaption") == keys
    scene = open_scene(page, "0-0")  # created after the selection
    assert not scene.locator("table tbody tr:last-child td").nth(1).is_visible()
    assert page.locator(".kinds th[data-keys]").first.get_attribute("colspan") == "1"
    kind = page.locator(".metric-selection button").first
    kind.click()
    assert list_visible_keys(page, HEADINGS) == ["MSE", "PSNR", "NMI", "QABF", "s/MP"]
    kind.click()
    assert list_visible_keys(page, HEADINGS) == ["NMI", "QABF", "s/MP"]


def test_wide_report_shows_the_main_metrics_in_twelve_colours(wide_page):
    page = wide_page
    assert list_visible_keys(page, HEADINGS) == ["SSIM", "MSE", "PSNR", "PSNR_RGB", "NMI", "QABF", "QCB"]
    wide = page.locator(".wide").first
    assert wide.evaluate("(wide) => wide.scrollWidth <= wide.clientWidth")
    assert len(set(page.evaluate("methods.map(colourOf)"))) == page.evaluate("methods.length") == 12

    # With all metrics the table scrolls, and its first column stays.
    for box in page.locator(".metric-selection input:not(:checked)").element_handles():
        box.evaluate("(box) => box.click()")
    assert wide.evaluate("(wide) => wide.scrollWidth > wide.clientWidth")
    wide.evaluate("(wide) => { wide.scrollLeft = 500; }")
    table, name, value = (
        node.bounding_box()["x"]
        for node in (wide, *(wide.locator(f"tbody {tag}").first for tag in ("th", "td")))
    )
    assert name - table < 3
    assert value < table


def test_metrics_are_explained_below_the_table(page):
    about = page.locator(".about").first
    about.locator("summary").click()
    assert about.locator("dl").is_visible()
    assert [text.split()[0] for text in about.locator("dt").all_inner_texts()] == page.evaluate("KEYS")
    assert all(about.locator("dd").all_inner_texts())


def test_wheel_scrolls_the_page_until_a_picture_is_clicked(page, scene):
    view = scene.locator(".view").nth(1)

    def wait_for_scroll(before):
        page.wait_for_function("(before) => scrollY < before", arg=before)

    page.evaluate("scrollTo(0, 0)")
    view.evaluate("(view) => view.scrollIntoView({block: 'end'})")
    view.hover()
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, -100)
    wait_for_scroll(before)
    assert get_place(scene)[2] == pytest.approx(1, abs=0.01)
    view.click()
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, -200)
    wait_for_scale(scene, 2)
    assert page.evaluate("scrollY") == before
    page.keyboard.press("Escape")
    page.mouse.wheel(0, -100)
    wait_for_scroll(before)
    assert get_place(scene)[2] == pytest.approx(2, abs=0.01)


def test_pictures_zoom_and_move_together(page, scene):
    view = scene.locator(".view").nth(1)
    box = view.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    wait_for_scale(scene, 4)
    assert get_place(scene)[0] == pytest.approx(-1.5 * box["width"], abs=4)  # fixed under the pointer

    before = get_place(scene)
    page.mouse.down()
    page.mouse.move(x + 30, y - 20)
    page.mouse.up()
    moves = [b - a for a, b in zip(before, get_place(scene), strict=True)]
    assert moves == pytest.approx([30, -20, 0], abs=0.1)

    view.dblclick()
    assert get_place(scene) == pytest.approx([0, 0, 1], abs=0.01)


def test_two_fingers_zoom(page, scene):
    box = scene.locator(".view").nth(1).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    devtools = page.context.new_cdp_session(page)

    def touch(kind, *distances):
        points = [{"x": x + distance, "y": y, "id": i} for i, distance in enumerate(distances)]
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    devtools.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    touch("touchStart", -20)
    touch("touchStart", -20, 20)
    for distance in (25, 30, 40, 50, 60):
        touch("touchMove", -distance, distance)
    touch("touchEnd")
    wait_for_scale(scene, 3, tolerance=0.2)


def test_buttons_zoom_and_show_the_size_of_a_pixel(page, scene):
    smaller, larger, actual_size, fit = scene.locator(".toolbar button").all()
    view, percent = scene.locator(".view").nth(1), scene.locator("output")
    fitted = view.evaluate("(view) => 100 * view.clientWidth * devicePixelRatio / 33")
    assert percent.inner_text() == f"{fitted:.0f} %"
    larger.click()
    assert get_place(scene)[2] == pytest.approx(1.5, abs=0.01)
    smaller.click()
    assert get_place(scene)[2] == pytest.approx(1, abs=0.01)
    actual_size.click()
    assert percent.inner_text() == "100 %"
    width = view.locator("img").evaluate("(image) => image.getBoundingClientRect().width * devicePixelRatio")
    assert width == pytest.approx(33, abs=0.05)
    left, _, scale = get_place(scene)  # a picture smaller than its frame is centred
    assert left == pytest.approx(view.evaluate("(view) => view.clientWidth") * (1 - scale) / 2, abs=2)
    fit.click()
    assert get_place(scene) == pytest.approx([0, 0, 1], abs=0.01)


def test_each_method_has_a_column_and_the_reference_the_last(page, scene):
    results, maps, errors, sources = (
        scene.evaluate(LEFT_EDGES, heading)
        for heading in ("Results", "Decision maps", "Error against the reference", "Sources and reference")
    )
    assert sorted(results, key=results.get) == METHODS
    assert errors == results
    assert maps == {name: results[name] for name in METHODS[:2]}
    assert sorted(sources, key=sources.get) == ["A", "B", "reference"]
    assert sources["reference"] == results["average"]
    assert sorted(open_scene(page, "1-0").evaluate(LEFT_EDGES, "Sources")) == ["A", "B"]


def test_pictures_follow_the_width_of_the_window(page, scene):
    view = scene.locator(".view").nth(1)
    before = view.bounding_box()["width"]
    page.set_viewport_size({"width": 1900, "height": 900})
    page.wait_for_function(
        "([view, least]) => view.clientWidth > least", arg=[view.element_handle(), 1.4 * before]
    )
    page.set_viewport_size({"width": 500, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")  # tables scroll, not the page


def test_error_maps_show_the_cropped_border_and_legends_name_the_frames(scene):
    frames = scene.locator(".scored").all()
    assert len(frames) == 3
    scene.locator(".viewer").press("+")
    for frame in frames:
        shares = frame.evaluate(
            """(node) => {
                const frame = node.getBoundingClientRect();
                const image = node.previousSibling.getBoundingClientRect();
                return [(frame.left - image.left) / image.width, (frame.top - image.top) / image.height];
            }"""
        )
        assert shares == pytest.approx([2 / 33, 2 / 40], abs=1e-3)
    labels, errors = scene.locator(".legend").all_inner_texts()
    assert "box-2-A.png" in labels
    assert "box-2-B.png" in labels
    assert "16 of 255" in errors
    assert "2 border pixels" in errors


def test_plots_have_round_ticks(page):
    def ticks(low, high):
        return page.evaluate(f"ticksWithin({low}, {high}).map(({{label}}) => label)")

    assert ticks(0.913, 0.988) == ["0.92", "0.94", "0.96", "0.98"]
    assert ticks(-3, 41) == ["0", "10", "20", "30", "40"]
    assert ticks(0.902, 0.9998) == ["0.92", "0.94", "0.96", "0.98"]
    assert ticks(2, 10) == ["2", "4", "6", "8", "10"]
    assert page.locator("section:first-of-type .plots figure:first-child .tick").count() >= 2


def test_keyboard_zooms_and_moves_one_scene(page, scene):
    other = open_scene(page, "0-1")
    viewer = scene.locator(".viewer")
    viewer.press("+")
    viewer.press("+")
    left, top, scale = get_place(scene)
    assert scale == pytest.approx(2.25, abs=0.01)
    viewer.press("ArrowRight")
    viewer.press("ArrowDown")
    moved = get_place(scene)
    assert moved[0] < left
    assert moved[1] < top
    for _ in range(30):
        viewer.press("ArrowLeft")
    assert get_place(scene)[0] == pytest.approx(0, abs=0.01)  # it stops at the edge
    assert (
        scene.locator("img").first.evaluate("(image) => getComputedStyle(image).imageRendering")
        == "pixelated"
    )
    viewer.press("-")
    assert get_place(scene)[2] == pytest.approx(1.5, abs=0.01)
    assert get_place(other) == pytest.approx([0, 0, 1], abs=0.01)
    viewer.press("0")
    assert get_place(scene) == pytest.approx([0, 0, 1], abs=0.01)


def test_every_score_is_a_dot_that_opens_its_scene(page):
    dots = page.locator("section:first-of-type circle")
    assert dots.count() == 3 * 3 * 4 + 3 * 2  # four metrics of three methods, and the time of two of them
    page.locator("section:first-of-type circle[data-scene=cup]").first.dispatch_event("click")
    assert page.evaluate("document.getElementById('scene-0-2').open")

"""The report of a reproduction: all numbers, and a self-contained page."""

import csv
import html
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from panfocus.reproduce import write_report
from panfocus.reproduce.image_sets import GREY_SETS
from panfocus.reproduce.paper import TABLE_1, TABLE_2, table_axes
from panfocus.reproduce.tables import section


@pytest.fixture(scope="module")
def folder(reproduction, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_report(reproduction, folder)
    return folder


class Page(HTMLParser):
    """Images, links and tables of a page."""

    def __init__(self, text):
        super().__init__()
        self.images, self.addresses, self.tables, self.open = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.addresses += [values[key] for key in ("href", "src") if key in values]
        if tag == "img":
            self.images.append(values)
        elif tag not in ("meta", "link"):
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            size = (int(values.get("rowspan", 1)), int(values.get("colspan", 1)))
            self.tables[-1][-1].append([size, values.get("class") or "", ""])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1][2] += data


@pytest.fixture(scope="module")
def page(folder):
    return Page((folder / "index.html").read_text())


def covered(rows):
    """Count how many cells cover each position of a table, as {(row, column): count}."""
    places = {}
    for i, row in enumerate(rows):
        column = 0
        for (height, width), _, _ in row:
            while (i, column) in places:
                column += 1
            for a in range(i, i + height):
                for b in range(column, column + width):
                    places[a, b] = places.get((a, b), 0) + 1
    return places


def test_every_image_is_embedded_and_has_a_description(page):
    assert len(page.images) > 60
    for image in page.images:
        assert image["src"].startswith(("data:image/webp;base64,", "data:image/svg+xml;base64,"))
        assert image["alt"]
    assert not page.open  # every element is closed


def test_the_page_loads_nothing_from_elsewhere(page, folder):
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    text = (folder / "index.html").read_text()
    assert "default-src 'none'" in text
    assert "<script" not in text


def test_contents_link_to_sections(page, folder):
    text = (folder / "index.html").read_text()
    links = [address for address in page.addresses if address.startswith("#")]
    assert len(links) == 16
    assert all(f'id="{link[1:]}"' in text for link in links)


def test_every_table_is_complete(page):
    assert len(page.tables) > 10
    for rows in page.tables:
        places = covered(rows)
        width = 1 + max(column for _, column in places)
        assert set(places) == {(i, j) for i in range(len(rows)) for j in range(width)}
        assert set(places.values()) == {1}


@pytest.mark.parametrize(("number", "printed"), [(1, TABLE_1), (2, TABLE_2)])
def test_tables_show_the_papers_values_and_ours(page, reproduction, number, printed):
    methods, measures, sets = table_axes(printed)
    rows = page.tables[number][2:]  # the first table lists the claims
    assert len(rows) == len(methods) * len(measures)
    results = reproduction.evidence.grey if number == 1 else reproduction.evidence.colour
    for i, (row, measure) in enumerate(zip(rows, [m for m in measures for _ in methods], strict=True)):
        method = methods[i % len(methods)]
        cells = [words for _, _, words in row][1 if i % len(methods) else 2 :]
        for name in sets:
            value = printed[method, measure, name]
            assert cells.pop(0) == f"{value.value:.4f}{value.place or ''}"
            if (method, measure, name) in results.scores:
                ours = results.scores[method, measure, name]
                assert cells.pop(0)[:6] == f"{ours:.4f}"[:6]
                assert cells.pop(0)[0] == ("+" if ours >= value.value else "−")
            elif i % len(methods) == 0:
                public = {s.name: s.public for s in GREY_SETS}[name]
                assert cells.pop(0) == ("no public reference" if public else "no public source")
        assert not cells


def test_worse_values_are_marked(page, reproduction):
    better = {"MSE": -1}
    worse = [
        cell
        for cell, ours in reproduction.evidence.grey.scores.items()
        if better.get(cell[1], 1) * (round(ours, 4) - TABLE_1[cell].value) < 0
    ]
    marked = [words for row in page.tables[1] for _, class_, words in row if class_ == "worse"]
    assert len(marked) == len(worse) > 0
    assert all("▼" in words for words in marked)


def test_the_note_on_pca_follows_from_the_run(reproduction, message):
    """All values equal the paper's except NMI and MSE on Lab, and one worse value to trigger the note."""
    grey = reproduction.evidence.grey
    papers = {cell: TABLE_1[cell].value for cell in grey.scores if cell[0] == "PCA"}
    lab_nmi, lab_mse, worse = ("PCA", "NMI", "Lab"), ("PCA", "MSE", "Lab"), ("PCA", "QABF", "Disk")

    def note(nmi, mse):
        changed = {lab_nmi: nmi, lab_mse: mse, worse: TABLE_1[worse].value - 0.001}
        body = section(replace(grey, scores=grey.scores | papers | changed)).body
        (note,) = re.findall(r"<li>(PCA: .*?)</li>", body)
        return html.unescape(note)

    message(
        "reproduce: PCA is close", note(TABLE_1[lab_nmi].value + 0.0015, mse=0.9 * TABLE_1[lab_mse].value)
    )
    message("reproduce: PCA is not close", note(TABLE_1[lab_nmi].value + 0.05, TABLE_1[lab_mse].value))


def test_our_best_three_are_coloured(page, reproduction):
    nmi = reproduction.evidence.grey.by_method("NMI", "Clocks")
    # Clocks is the first set: after the headings come the paper's value and ours.
    ours = [row[3 if i == 0 else 2] for i, row in enumerate(page.tables[1][2:9])]
    for (_, class_, words), value in zip(ours, nmi.values(), strict=True):
        place = 1 + sum(other > value for other in nmi.values())
        assert class_ == (f"place-{place}" if place <= 3 else "")
        assert words == f"{value:.4f}{place if place <= 3 else ''}"


def test_shares_of_both_kinds_are_shown_for_every_draw(page, reproduction):
    findings = reproduction.evidence.findings
    (table,) = (rows for rows in page.tables if rows[0][0][2] == "share of the patches")
    assert [words for _, _, words in table[0][1:]] == ["seed 0", "seed 1"]
    for i, label in enumerate(("focused", "blurred", "both")):
        rows = [[words for _, _, words in row[1:]] for row in table[1 + 3 * i : 4 + 3 * i]]
        for k in (0, 1):
            coupled, separate = (findings.shares[kind, label][k] for kind in ("coupled", "separate"))
            assert [rows[0][k], rows[1][k]] == [f"{coupled:.1%}", f"{separate:.1%}"]
            assert rows[2][k] == f"{100 * (coupled - separate):+.1f}".replace("-", "−")


def test_means_and_medians_of_the_codes_are_shown(page, reproduction):
    (table,) = (rows for rows in page.tables if rows[0][0][2] == "dictionary, patches")
    assert [words for _, _, words in table[0]][3:5] == ["l1 norm, mean", "l1 norm, median"]
    codes_of = reproduction.evidence.findings.codes
    first_draw = [codes[0] for codes in codes_of.values()]
    for row, codes in zip(table[1:], first_draw, strict=True):
        assert [words for _, _, words in row][3:5] == [f"{codes.mean.l1:.3f}", f"{codes.median.l1:.3f}"]


def test_csv_and_json_contain_every_number(folder, reproduction):
    rows = list(csv.DictReader(io.StringIO((folder / "numbers.csv").read_text())))
    data = json.loads((folder / "numbers.json").read_text())
    assert len(rows) == len(data["numbers"]) == sum(len(s.numbers) for s in reproduction.sections)
    for row, number in zip(rows, data["numbers"], strict=True):
        assert float(row["value"]) == number["value"]
    found = {
        (row["variant"], row["measure"], row["subject"]): row for row in rows if row["part"] == "table 1"
    }
    assert found.keys() == reproduction.evidence.grey.scores.keys()
    for cell, row in found.items():
        assert float(row["value"]) == reproduction.evidence.grey.scores[cell]
        assert float(row["paper"]) == TABLE_1[cell].value
    assert [claim["verdict"] for claim in data["claims"]] == [c.verdict for c in reproduction.claims]
    assert data["seconds"] > 0
    assert data["peak_memory"] > 1e6


def test_all_parts_have_numbers(reproduction):
    parts = {section.identity for section in reproduction.sections if section.numbers}
    assert parts == {
        "table 1", "table 2", "variants", "training data", "dictionaries", "coupled or separate", "draws",
        "masks", "global reconstruction", "parameters", "equations 2 to 4", "noise",
    }  # fmt: skip

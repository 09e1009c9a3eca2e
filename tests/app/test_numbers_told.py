"""How the page writes sizes and times: rounded before the unit is chosen."""

import pytest
from page_steps import Visit

pytest.importorskip("playwright.sync_api")

TOLD = """async ([name, values]) => {
    const told = (await import("/static/js/dom.js"))[name];
    return values.map(told);
}"""


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "sizeText",
            {
                0: "0 bytes",
                999: "999 bytes",
                1500: "1.5 kB",
                9960: "10 kB",
                999_400: "999 kB",
                999_700: "1.0 MB",
                12_345_678: "12 MB",
            },
        ),
        (
            "secondsText",
            {
                0.04: "0.1 s",
                9.96: "10 s",
                59.4: "59 s",
                59.7: "1 min 0 s",
                75: "1 min 15 s",
                3599.6: "1 h 0 min",
                7169: "1 h 59 min",
                7190: "2 h 0 min",
            },
        ),
    ],
)
def test_no_unit_is_told_sixty_or_a_thousand_times(chromium, serves, name, texts):
    visit = Visit(chromium, serves.address)
    assert visit.page.evaluate(TOLD, [name, list(texts)]) == list(texts.values())
    visit.close()

"""The browser is given a file that leads to the page: it is let in as by the address itself."""

import small_stacks
from app_server import running_server


def test_the_file_leads_a_browser_to_the_page(chromium, tmp_path):
    small_stacks.write(tmp_path / "pictures")
    given = ("--port", "0", "--browser")
    with running_server(tmp_path / "work", tmp_path / "pictures", *given, BROWSER="true %s") as server:
        page = chromium.new_page()
        page.goto((tmp_path / "work" / "open.html").as_uri())
        page.locator("#welcome").wait_for()
        assert page.url.split("#")[0] == f"{server.url}/"  # the secret is out of sight
        page.go_back()
        assert server.token not in page.url
        page.close()

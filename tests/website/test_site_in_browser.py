"""The built site in a real browser, opened as files: width, landmarks, keyboard and search."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from support.pages.browser import Page
from support.tables import case
from support.website.site_pages import site

pytestmark = pytest.mark.xdist_group("chromium")

WIDE, NARROW = 1280, 360
SEARCH = {WIDE: ".md-search__button", NARROW: ".md-header__button[for=__search]"}
LANDMARKS = "['header', 'nav', 'main', 'footer'].filter(e => !document.querySelector(e))"


def open_wide(page: Page, name: str) -> None:
    page.size(WIDE)
    page.open((site() / name).as_uri())


def fits(page: Page) -> None:
    """Require that a page has its landmarks, fits any window, and requests nothing else."""
    assert page.evaluate(LANDMARKS) == []
    for width in (NARROW, WIDE):
        with case(width):
            page.size(width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.complaints == []
    assert {request.partition(":")[0] for request in page.requests} <= {"file", "data"}


def test_a_page_fits_any_width_and_the_keyboard_first_leads_to_its_text(chromium: Page) -> None:
    open_wide(chromium, "protocol.html")
    fits(chromium)
    chromium.press("Tab", 9)
    link = chromium.evaluate("document.activeElement.getAttribute('href')")
    inside = f"!!document.querySelector('main {link}, main [id=\"{link[1:]}\"]')"
    assert chromium.evaluate("document.activeElement.matches('.md-skip')")
    assert chromium.evaluate(inside)


def test_search_finds_a_word_in_pages_that_are_files(chromium: Page) -> None:
    open_wide(chromium, "index.html")
    fits(chromium)
    assert indexes(chromium) == []
    for width, button in SEARCH.items():
        with case(width):
            chromium.size(width)
            chromium.click(button)
            finds(chromium)
            chromium.press("Escape", 27)
    assert len(indexes(chromium)) == 1


def test_the_search_index_is_loaded_when_a_reader_begins_to_search(chromium: Page) -> None:
    with web_server(site()) as address:
        chromium.size(WIDE)
        chromium.open(f"{address}/index.html")
        assert indexes(chromium) == []
        chromium.press("k", 75, control=True)
        finds(chromium)
        assert indexes(chromium) == [f"{address}/search.json"]
        # The word is marked in the page that was found.
        chromium.open(f"{address}/protocol.html?h=OPEN_PENDING")
        assert wait_for_list(chromium, "[...document.querySelectorAll('mark')]")


def test_search_ranks_titles_first_and_changelog_and_severities_last(chromium: Page) -> None:
    found = [("severities-of-changes.html#a", "Echo"), ("changelog.html#b", "Echo"), ("c", "Else")]
    found += [("d.html", "An echo"), ("changelog.html", "Changes of echo")]
    items: list[dict[str, object]] = [
        {"location": location, "title": title, "text": "echo", "path": [], "tags": []}
        for location, title in found
    ]
    index = {"config": {"lang": ["en"], "separator": r"[\s\-]+"}, "items": items}
    (script,) = site().glob("assets/javascripts/workers/search.*.js")
    with web_server(site()) as address:
        chromium.open(f"{address}/call.html")
        order = chromium.evaluate(
            "new Promise(done => {"
            f" const worker = new Worker({json.dumps(f'/{script.relative_to(site())}')});"
            " worker.onmessage = ({data: {type, data}}) => type === 1"
            " ? worker.postMessage({type: 2, data: {input: 'echo'}})"
            " : done(data.items.map(item => item.id));"
            f" worker.postMessage({{type: 0, data: {json.dumps(index)}}}); }})"
        )
    assert order == [3, 4, 2, 0, 1]


def indexes(page: Page) -> list[str]:
    """The requests for the search index."""
    return [
        request for request in page.requests if request.endswith(("/search.js", "/search.json"))
    ]


def finds(page: Page) -> None:
    """The open search finds a word."""
    assert wait_for_list(page, "seen('input').map(e => [e.select(), e])")
    page("Input.insertText", text="OPEN_PENDING")
    found = wait_for_list(page, "seen('a').map(e => e.getAttribute('href'))")
    assert any("protocol.html" in line for line in found), found


@contextmanager
def web_server(folder: Path) -> Generator[str, None, None]:
    """Serve a folder, and give its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Write no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def wait_for_list(page: Page, expression: str) -> list[Any]:
    """A list, once it has something; `seen` finds elements in the window of the search."""
    found: list[Any] = page.evaluate(
        "new Promise(done => {"
        " const seen = selector => [...document.querySelectorAll('*')]"
        ".flatMap(e => e.shadowRoot ? [...e.shadowRoot.querySelectorAll(selector)] : [])"
        ".filter(e => e.getClientRects().length);"
        f" const look = () => {{ const found = {expression};"
        " found.length ? done(found.map(String)) : setTimeout(look, 20); }; look(); })"
    )
    return found

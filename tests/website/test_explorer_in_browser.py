"""The explorer in a real browser, opened as a file: look, controls, and accessibility."""

import json
from typing import Any, Final
from urllib.parse import quote

import pytest
from support import tables
from support.pages.browser import Page
from support.pages.measures import OVERFLOWING, contrast
from support.revisions import REVISIONS
from support.website.explorer import data, explorer

WIDE: Final = 1280
NARROW: Final = 360
JUDGED: Final = "#/judge?m=" + quote(
    '{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text"}]}}'
)
VIEWS: Final = (
    "#/methods",
    "#/types",
    "#/capabilities",
    "#/errors",
    "#/headers",
    "#/meta",
    "#/methods/elicitation/create?rev=2025-11-25&with=2026-07-28",
    "#/types/CallToolRequestParams?rev=2024-11-05",
    "#/types/Task?rev=2026-07-28%2Btasks",
    "#/capabilities/server:tools.listChanged",
    "#/errors/-32022",
    "#/headers/request:mcp-session-id?rev=2025-06-18",
    "#/meta/progressToken",
    "#/compare/2025-11-25/2026-07-28?for=server&only=breaking",
    "#/compare/2025-11-25/tasks",
    "#/revisions",
    "#/findings",
    "#/findings/2024-11-05/CallToolRequest/properties/params/properties/_meta",
    JUDGED,
    "#/search?q=list_changed",
)
"""One of each kind of view."""


pytestmark = pytest.mark.xdist_group("chromium")


@pytest.fixture(scope="module")
def page(chromium: Page) -> Page:
    explorer("the protocol explorer in a browser")
    chromium.size(WIDE)
    chromium.scheme("light")
    visit(chromium)
    return chromium


def visit(page: Page, fragment: str = "") -> None:
    """Open the page anew at a view, and wait until it is there."""
    page.open("about:blank")
    page.open(f"file://{explorer()}/index.html{fragment}")
    until(page, SHOWN)


SHOWN: Final = "document.querySelector('main').getAttribute('aria-busy') === 'false'"


def go(page: Page, fragment: str) -> None:
    """Go to a view of the page that is open."""
    page.evaluate(
        f"location.hash === {json.dumps(fragment)} || "
        "new Promise(done => { addEventListener('hashchange', done, {once: true});"
        f" location.hash = {json.dumps(fragment)}; }})"
    )
    until(page, SHOWN)


def until(page: Page, condition: str) -> None:
    """Wait until an expression is true."""
    page.evaluate(
        "new Promise(done => { const look = () => "
        f"({condition}) ? done() : setTimeout(look, 5); look(); }})"
    )


def texts(page: Page, selector: str) -> list[str]:
    """The texts of all elements that are seen."""
    found: list[str] = page.evaluate(
        f"[...document.querySelectorAll({json.dumps(selector)})]"
        ".filter(e => e.getClientRects().length).map(e => e.textContent.trim())"
    )
    return found


def key(page: Page, name: str, code: int, text: str = "") -> None:
    """Press a key, which may write something."""
    kind = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
    for event in (kind, {"type": "keyUp"}):
        page("Input.dispatchKeyEvent", **event, key=name, code=name, windowsVirtualKeyCode=code)


def tab_to(page: Page, condition: str) -> int:
    """Press Tab until the element that has the focus, `e`, is one; how often that was."""
    for presses in range(1, 200):
        key(page, "Tab", 9)
        if page.evaluate(f"(e => {condition})(document.activeElement)"):
            return presses
    raise AssertionError(condition)


def test_no_view_sticks_out_complains_or_asks_for_another_place(page: Page) -> None:
    home = f"file://{explorer()}/"
    visit(page, "#/search?q=none")
    for view in tables.some(VIEWS, 12, "views"):
        go(page, view)
        for width in (WIDE, NARROW):
            page.size(width)
            with tables.case(f"{width} {view[:60]}"):
                assert page.evaluate(OVERFLOWING) == []
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                assert len(texts(page, "h1")) == 1
                assert texts(page, "h1") != ["Not found"]
    go(page, VIEWS[17])
    assert texts(page, "h1") == ["2024-11-05: CallToolRequest.params._meta"]
    page.size(WIDE)
    assert page.complaints == []
    assert all(request.startswith(home) for request in page.requests)


def test_all_text_stands_out_from_what_is_behind_it(page: Page) -> None:
    # 4.5 to 1 is what WCAG 2.2 asks of text, https://www.w3.org/TR/WCAG22/#contrast-minimum.
    for view in (VIEWS[0], VIEWS[6], VIEWS[13], VIEWS[17], JUDGED):
        go(page, view)
        for scheme in ("light", "dark"):
            page.scheme(scheme)
            with tables.case(f"{scheme} {view[:60]}"):
                seen, faults = page.evaluate(contrast("#find"))
                assert faults == []
                assert seen > 30
    page.scheme("light")


def test_the_matrix_has_every_method_and_says_what_became_of_it(page: Page) -> None:
    go(page, "#/methods")
    methods = [method["name"] for method in data("index")["items"]["methods"]]
    assert texts(page, ".matrix tbody th a") == methods
    assert texts(page, ".matrix thead th")[2:] == [*REVISIONS, "Extensions"]
    row = methods.index("tasks/get") + 1
    cells = texts(page, f".matrix tbody tr:nth-child({row}) td")
    assert cells[0] == "clientrequest"
    assert cells[1:] == [*["not in it"] * 3, "new", "removed", "tasks"]


def test_a_list_can_be_narrowed_and_remembers_that_in_its_address(page: Page) -> None:
    go(page, "#/types")
    page.type("main input[type=search]", "resourcecontents")
    until(page, "location.hash.includes('q=resourcecontents')")
    narrowed = texts(page, ".matrix tbody th a")
    assert "TextResourceContents" in narrowed and len(narrowed) < 10
    visit(page, page.evaluate("location.hash"))
    assert texts(page, ".matrix tbody th a") == narrowed


def test_a_link_opens_an_item_in_its_revision_and_the_way_back_works(page: Page) -> None:
    go(page, "#/types/Tool?rev=2025-03-26")
    assert texts(page, "h1") == ["Tool"]
    assert texts(page, ".choices [aria-current]") == ["2025-03-26"]
    assert "In 2025-03-26" in texts(page, "h2")
    assert "outputSchema optional" not in texts(page, ".members tbody th")
    page.click(".choices a:nth-of-type(3)")
    until(page, "document.querySelector('.side h2')?.textContent === 'In 2025-06-18'")
    assert "outputSchema optional" in texts(page, ".members tbody th")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.evaluate("history.back()")
    until(page, "document.querySelector('.side h2')?.textContent === 'In 2025-03-26'")
    assert page.evaluate("document.title") == "Tool · MCP protocol explorer"


def test_an_item_shows_its_history_its_findings_and_its_page(page: Page) -> None:
    go(page, "#/types/ElicitResult?rev=2025-11-25")
    assert texts(page, ".history h3") == ["2025-06-18", "2025-11-25", "2026-07-28"]
    assert len(texts(page, ".findings li")) == 3
    go(page, "#/methods/tools/call?rev=2026-07-28")
    link: str = page.evaluate("document.querySelector('.facts .source').href")
    specification = "https://modelcontextprotocol.io/specification"
    assert link == f"{specification}/2026-07-28/server/tools#calling-tools"


def test_a_name_that_is_nowhere_is_told(page: Page) -> None:
    go(page, "#/methods/tools/dance")
    assert texts(page, "main p")[0] == "There is no method “tools/dance” in any revision."
    for view in ("dance", "constructor", "__proto__", "<img src=x>"):
        go(page, f"#/{quote(view)}")
        assert texts(page, "main p")[0] == f"There is no page “{quote(view)}” here."


def test_unknown_name_gets_a_hint_with_the_nearest_names(page: Page) -> None:
    for view, near in {
        "#/methods/tools/cal": "tools/call",
        "#/types/tools/call": "tools/call",
        "#/types/calltoolresul": "CallToolResult",
        "#/headers/mcp-sesion-id": "response:mcp-session-id",
        "#/search?q=sampling%2Fcreatmesage": "sampling/createMessage",
    }.items():
        with tables.case(view):
            go(page, view)
            (hint,) = [text for text in texts(page, "main p") if text.startswith("Did you mean ")]
            assert near in hint
            shown = f"textContent === {json.dumps(near)}"
            link = f"[...document.querySelectorAll('main p a')].find(a => a.{shown})"
            page.evaluate(f"{link}.click()")
            until(page, f"document.querySelector('h1').{shown}")
    for view in ("#/search?q=tools%2Fcall", "#/search?q=xyzzy", f"#/search?q={'tool' * 50}"):
        with tables.case(view[:40]):
            go(page, view)
            assert not any(text.startswith("Did you mean") for text in texts(page, "main p"))


def test_revisions_have_their_files_and_rules(page: Page) -> None:
    go(page, "#/revisions")
    assert texts(page, ".revisions thead th")[1:] == [*REVISIONS]
    rows: list[str] = texts(page, ".revisions tbody tr")
    batches = next(row for row in rows if row.startswith("Batches"))
    assert batches.count("yes (sent: yes)") == 1 and batches.count("no (sent: no)") == 4
    pins = {revision["pin"]["sha256"] for revision in data("index")["revisions"]}
    assert len(pins) == len(REVISIONS)
    assert all(any(pin in row for row in rows) for pin in pins)


def test_a_comparison_is_judged_for_a_reader_and_shown_side_by_side(page: Page) -> None:
    go(page, "#/compare/2026-07-28/2025-11-25?for=server&only=breaking")
    assert texts(page, "h1") == ["2025-11-25 → 2026-07-28"]
    changes = data("2025-11-25..2026-07-28")["changes"]
    at = data("index")["readers"].index("server")
    breaking = [change for change in changes if change["severity"][at] == "b"]
    until(page, "document.querySelector('.changes')")
    assert texts(page, ".changes thead th")[2:4] == ["2025-11-25", "2026-07-28"]
    assert len(texts(page, ".changes tbody tr")) == len(breaking)
    assert texts(page, ".count") == [f"{len(breaking)} of {len(changes)} changes"]


def test_error_with_another_code_leads_to_the_new_one(page: Page) -> None:
    go(page, "#/compare/2026-07-28/2025-11-25")
    until(page, "document.querySelector('.changes')")
    changes = data("2025-11-25..2026-07-28")["changes"]
    (code,) = (change["after"] for change in changes if change["code"] == "error-replaced")
    assert page.evaluate(
        "[...document.querySelectorAll('.changes a')]"
        ".find((link) => link.textContent === 'resource not found').hash"
    ).startswith(f"#/errors/{code}")


def test_a_pasted_message_has_a_verdict_of_every_revision(page: Page) -> None:
    go(page, "#/judge")
    message = '{\n "jsonrpc": "2.0", "id": 1,\n "method": "tools/call",\n "params": {"name": 3}}'
    page.type("#message", message)
    until(page, "document.querySelector('.summary').textContent.startsWith('Accepted')")
    assert texts(page, ".summary") == ["Accepted by 0 of 5 revisions."]
    assert texts(page, ".verdict h3") == [f"{revision} refused" for revision in reversed(REVISIONS)]
    fault = texts(page, ".verdict:last-child tbody tr *")
    assert fault[:3] == ["/params/nameline 4, column 21", "/params/name", "line 4, column 21"]
    assert "must be string, not number" in fault
    page.click(".share button")
    until(page, "location.hash.includes('m=')")
    visit(page, page.evaluate("location.hash"))
    assert page.evaluate("document.querySelector('#message').value") == message
    assert len(texts(page, ".verdict.refused")) == 5


def test_of_a_long_message_it_is_told_how_far_the_judge_is(page: Page) -> None:
    blocks = [{"type": "text", "text": "x" * 100, "more": number} for number in range(400)]
    message = {"jsonrpc": "2.0", "id": 1, "result": {"content": blocks}}
    go(page, "#/judge")
    page.evaluate(
        "window.told = []; new MutationObserver(() =>"
        " told.push(document.querySelector('.summary').textContent))"
        ".observe(document.querySelector('.summary'), {childList: true})"
    )
    page.type("#message", json.dumps(message))
    until(page, "told.at(-1)?.startsWith('Accepted')")
    told = page.evaluate("told")
    assert told[:2] == ["Judging: 0 of 5 revisions…", "Judging: 1 of 5 revisions…"]
    assert told[-1].startswith("Accepted by 4 of 5 revisions")
    more = "/result/content/49/more (not in TextContent), and 350 more."
    assert any(text.endswith(more) for text in texts(page, ".verdict .note"))


def test_invalid_json_is_shown_with_its_place(page: Page) -> None:
    go(page, "#/judge?m=" + quote('{\n  "id": 1,\n}'))
    assert texts(page, ".summary") == [
        "This is not JSON: line 3, column 1: the name of a member is expected, in quotes."
    ]


def test_everything_can_be_done_with_the_keyboard(page: Page) -> None:
    visit(page)
    assert tab_to(page, "e.matches('.skip')") == 1
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    key(page, "Enter", 13, "\r")
    assert page.evaluate("document.activeElement.id") == "main"
    tab_to(page, "e.textContent === 'elicitation/create'")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    key(page, "Enter", 13, "\r")
    until(page, "document.querySelector('h1').textContent === 'elicitation/create'")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    key(page, "/", 191, "/")
    page("Input.insertText", text="judge")
    assert page.evaluate("document.activeElement.id") == "find"
    page.evaluate("document.activeElement.value = ''")
    page("Input.insertText", text="sampling/c")
    until(page, "document.querySelector('.results a')")
    key(page, "Enter", 13, "\r")
    assert page.evaluate("document.activeElement.textContent") == "sampling/createMessage"
    tab_order = ("e.textContent === 'Judge a message'", "e.id === 'message'")
    visit(page)
    tab_to(page, tab_order[0])
    key(page, "Enter", 13, "\r")
    until(page, "document.querySelector('#message')")
    tab_to(page, tab_order[1])
    page("Input.insertText", text="[]")
    until(page, "document.querySelector('.verdict')")
    tab_to(page, "e.tagName === 'SELECT'")
    key(page, "ArrowDown", 40)
    until(page, "location.hash.includes('by=client')")


def test_landmarks_headings_and_tables_are_heard(page: Page) -> None:
    go(page, JUDGED)
    nodes: list[dict[str, Any]] = page("Accessibility.getFullAXTree")["nodes"]
    seen = [(node["role"]["value"], node["name"]["value"]) for node in nodes if "name" in node]
    roles = [role for role, _ in seen]
    for role in ("banner", "search", "main", "contentinfo"):
        assert roles.count(role) == 1, role
    for wanted in (
        ("navigation", "Site"),
        ("navigation", "Explorer"),
        ("heading", "Judge a message"),
        ("form", "The message"),
        ("textbox", "Message"),
        ("article", "2025-11-25 refused"),
        ("table", "Faults in 2025-11-25"),
        ("columnheader", "Where"),
        ("status", ""),
    ):
        assert wanted in seen, wanted
    assert "rowheader" in roles
    live = [node for node in nodes if node["role"]["value"] == "status"]
    said = {
        p["name"]: p["value"]["value"] for message in live for p in message.get("properties", ())
    }
    assert said["live"] == "polite"

"""A comparison as a changelog in Markdown."""

import re
from dataclasses import replace

import pytest
from mcp_protogen.pipeline.reports.change import Comparison, Overview, Reader
from mcp_protogen.pipeline.reports.pages.markdown import code, prose, render
from support import tables
from support.pages.comparisons import HARM, NOTHING, REMOVED, SMALL, hostile


def test_a_changelog_has_a_heading_for_each_severity_and_a_bullet_for_each_change() -> None:
    assert render(SMALL, reader=Reader.CLIENT) == (
        "## 2025-03-26 → 2025-06-18\n"
        "\n"
        "2 breaking, 1 warning, 1 info for client.\n"
        "\n"
        "### Breaking changes\n"
        "\n"
        "**Methods**\n"
        "\n"
        "- `ping`: removed\n"
        "\n"
        "**Fields**\n"
        "\n"
        "- `CallToolRequest.params.name`: required: `optional` → `required`\n"
        "\n"
        "### Warnings\n"
        "\n"
        "**Fields**\n"
        "\n"
        "- `CallToolResult.content`: type changed: `[EmbeddedResource|ImageContent|TextContent]` → "
        "`[AudioContent|EmbeddedResource|ImageContent|ResourceLink|TextContent]`\n"
        "\n"
        "### Info\n"
        "\n"
        "**Types**\n"
        "\n"
        "- `AudioContent`: added: `object, 4 members`\n"
        "\n"
        "### Why\n"
        "\n"
        "- `method-removed`: Whoever still sends it is refused.\n"
        "- `field-required`: A message without it is refused.\n"
        "- `field-type`: Readers meet kinds of content that they do not know.\n"
        "\n"
        "### Notes\n"
        "\n"
        "- `draft.json#/$defs/Ask`: there are no facts about this method (add)\n"
    )


def test_without_a_reader_each_change_says_whom_it_concerns() -> None:
    bullets = [line for line in render(SMALL, reader=None).splitlines() if line[:2] == "- "]
    assert bullets[0] == "- `ping`: removed *(everybody)*"
    assert bullets[1].endswith(" *(client, sdk)*")


def test_headline_about_features_is_bold() -> None:
    changes = tuple(replace(change, feature="tools") for change in SMALL.changes)
    lines = render(replace(SMALL, changes=changes), reader=Reader.CLIENT).splitlines()
    assert lines[2].startswith("**2025-06-18 against 2025-03-26: 2 breaking for clients: ")
    assert lines[2].endswith(".**")


def test_irrelevant_changes_are_left_out() -> None:
    page = render(SMALL, reader=Reader.GATEWAY)
    assert "`AudioContent`" not in page
    assert "1 breaking, 2 warnings for gateway (1 for others)." in page


def test_no_changes_are_said_in_a_line() -> None:
    assert render(NOTHING, reader=None) == "## 2025-03-26 → 2025-03-26\n\nNo changes.\n"


def test_overview_is_a_list_a_table_and_remarks() -> None:
    table = (("revision", "tools"), ("2025-03-26", "1"), ("2025-06-18", "2"))
    head = (
        "## 2025-03-26 → 2025-03-26\n"
        "\n"
        "- name: time\n"
        "\n"
        "| revision | tools |\n"
        "|---|---|\n"
        "| 2025-03-26 | 1 |\n"
        "| 2025-06-18 | 2 |\n"
        "\n"
    )
    for remarks, shown in ((), ""), (("It ended early.",), "- It ended early.\n\n"):
        known = Overview((("name", "time"),), table, remarks)
        page = render(replace(NOTHING, overview=known), reader=None)
        assert page == f"{head}{shown}No changes.\n"


TEXTS = (
    "plain",
    "a`b",
    "``",
    "`",
    " x ",
    "a|b",
    "<b>",
    "*a*_b_",
    "[a](b)",
    "&amp;",
    "\\",
    "~~a~~",
    "",
)


def test_a_code_span_shows_the_text_that_went_in() -> None:
    for text in [text for text in TEXTS if text]:
        with tables.case(text):
            assert visible_text(f"- {code(text)}") == text


def test_prose_shows_the_text_that_went_in() -> None:
    for text in TEXTS:
        with tables.case(text):
            assert visible_text(f"- x{prose(text)}") == f"x{text}".rstrip()


def test_mentions_and_issue_references_are_defused() -> None:
    assert prose("ask @everyone about #12") == "ask `@`everyone about `#`12"
    assert prose("a@b and C#") == "a@b and C#"


def test_harm_stays_text() -> None:
    html = render_html(render(hostile()[0], reader=None))
    assert set(re.findall(r"</?([a-z0-9]+)", html)) <= {
        "h2",
        "h3",
        "p",
        "ul",
        "li",
        "code",
        "strong",
        "em",
    }
    assert "<a" not in html and "&lt;img src=x" in html
    assert html.count("<li>") == 3  # the change, its reason, the note
    assert "\x1b" not in html and "\u202e" not in html


def test_a_title_with_line_breaks_cannot_start_anything() -> None:
    page = render(Comparison("a\n# b", HARM, (REMOVED,)), reader=None)
    assert page.startswith(r"## a\\n# b → ")
    assert page.count("\n## ") == 0


def render_html(markdown: str) -> str:
    why = "NOT TESTED for want of markdown-it-py: how others read Markdown"
    library = pytest.importorskip("markdown_it", reason=why)
    html: str = library.MarkdownIt("gfm-like", {"linkify": False}).render(markdown)
    return html


def visible_text(markdown: str) -> str:
    """What a reader of the page sees."""
    from html import unescape

    return unescape(re.sub("<[^>]+>", "", render_html(markdown))).strip("\n")

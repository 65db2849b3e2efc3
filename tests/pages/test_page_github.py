"""A comparison as annotations of GitHub Actions."""

from dataclasses import replace
from typing import Any

from mcp_protogen.pipeline.reports.change import Comparison, Reader
from mcp_protogen.pipeline.reports.pages.github import render
from mcp_protogen.pipeline.reports.pages.workflow_commands import Annotation
from support.pages.comparisons import (
    BREAKING,
    INFO,
    NOTHING,
    REMOVED,
    SMALL,
    WARNING,
    everybody,
    hostile,
)


def test_each_change_is_an_annotation_as_severe_as_it_is() -> None:
    assert render(SMALL, reader=Reader.CLIENT).splitlines() == [
        "::error title=method-removed%3A ping::ping: removed. Whoever still sends it is refused.",
        "::error title=field-required%3A CallToolRequest.params.name::CallToolRequest.params.name:"
        " required (optional -> required). A message without it is refused.",
        "::warning title=field-type%3A CallToolResult.content::CallToolResult.content: type changed"
        " ([EmbeddedResource|ImageContent|TextContent] -> [AudioContent|EmbeddedResource"
        "|ImageContent|ResourceLink|TextContent])."
        " Readers meet kinds of content that they do not know.",
        "::notice title=type-added%3A AudioContent::AudioContent: added (object, 4 members).",
        "::warning file=draft.json,title=no-facts::there are no facts about this method"
        " at /$defs/Ask (add)",
        "2025-03-26 -> 2025-06-18: 2 breaking, 1 warning, 1 info for client",
    ]


def test_without_a_reader_an_annotation_says_whom_it_concerns() -> None:
    first, second, *_ = render(SMALL, reader=None).splitlines()
    assert first.endswith(" For everybody.")
    assert second.endswith(" For client, sdk.")


def test_irrelevant_changes_are_not_annotated() -> None:
    assert "AudioContent:" not in render(SMALL, reader=Reader.GATEWAY)


def test_no_changes_are_one_line() -> None:
    assert render(NOTHING, reader=None) == "2025-03-26 -> 2025-03-26: no changes\n"


def test_text_from_elsewhere_starts_no_command_and_ends_none() -> None:
    headline, whole, change, note, summary = render(hostile()[0], reader=None).split("\n")[:-1]
    assert change.startswith("::warning title=x-y%3A ")
    assert note.startswith("::warning file=")
    assert not summary.startswith("::") and not whole.startswith("::")
    assert headline.startswith("::notice title=")
    for line in (headline, change, note):
        properties = line.split("::")[1].partition(" ")[2]
        # Within the properties, only ours may separate.
        assert properties.count(",") == line.startswith("::warning file=")
        assert "%250A" in line and line.isprintable()


def many(number: int, **differences: Any) -> Comparison:
    """As many removed methods."""
    one = replace(REMOVED, **differences)
    return Comparison("a", "b", tuple(replace(one, item=f"m/{n:02}") for n in range(number)))


def test_as_many_annotations_as_github_shows_are_made_and_the_rest_is_logged() -> None:
    for level, severity in (("error", BREAKING), ("warning", WARNING), ("notice", INFO)):
        for number in (10, 11, 42):
            comparison = many(number, severity=everybody(severity))
            lines = render(comparison, reader=None).splitlines()
            shown = [line for line in lines if line.startswith("::")]
            assert len(shown) == 10 and {line.split()[0] for line in shown} == {f"::{level}"}
            logged = [line for line in lines if line.startswith(f"{level}: method-removed: m/")]
            assert len(logged) == (number - 9 if number > 10 else 0)
            assert all(any(f"m/{n:02}" in line for line in lines) for n in range(number))
            if logged:
                assert shown[-1].startswith(f"::{level} title={len(logged)} more::")


def test_a_long_message_is_cut_in_the_annotation_and_whole_in_the_log() -> None:
    long = many(1, why="because " * 4096, message="x" * 300, code="c" * 300)
    command, line, _ = render(long, reader=None).splitlines()
    title, message = command.removeprefix("::error title=").split("::")
    assert (len(title.replace("%3A", ":")), len(message)) == (255, 4096)
    assert title.endswith("…") and message.endswith("…")
    assert line.endswith("because  For everybody.") and len(line) > 8 * 4096


def test_annotation_of_maximum_length_is_whole() -> None:
    for title, message in ((255, 4096), (256, 4097)):
        one = Annotation("error", "t" * title, "m" * message)
        assert one.fits is ("…" not in one.command) is (title == 255)
        assert len(one.command) == len("::error title=::") + 255 + 4096


def test_logged_text_is_not_command() -> None:
    one = replace(REMOVED, item="a", message="x\n::error::y")
    lines = render(Comparison("a", "b", (one,) * 30), reader=None).splitlines()
    assert sum(line.lstrip().startswith("::") for line in lines) == 10

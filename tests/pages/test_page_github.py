"""A comparison as annotations of GitHub Actions."""

from comparisons import NOTHING, SMALL, hostile
from mcp_protogen.compare.change import Reader
from mcp_protogen.compare.pages.github import render


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


def test_what_does_not_concern_the_reader_is_not_annotated() -> None:
    assert "AudioContent:" not in render(SMALL, reader=Reader.GATEWAY)


def test_no_changes_are_one_line() -> None:
    assert render(NOTHING, reader=None) == "2025-03-26 -> 2025-03-26: no changes\n"


def test_text_from_elsewhere_starts_no_command_and_ends_none() -> None:
    change, note, summary = render(hostile()[0], reader=None).split("\n")[:-1]
    assert change.startswith("::warning title=x-y%3A ")
    assert note.startswith("::warning file=")
    assert not summary.startswith("::")
    for line in (change, note):
        properties = line.split("::")[1].removeprefix("warning ")
        # Within the properties, only ours may separate.
        assert properties.count(",") == line.startswith("::warning file=")
        assert "%250A" in line and line.isprintable()

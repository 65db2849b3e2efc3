"""Texts: a schema's own go first, ours serve every revision, links are plain words."""

import pytest
from mcp_protogen.pipeline.inputs import descriptions
from mcp_protogen.pipeline.inputs.descriptions import Descriptions
from support import tables


def test_without_any_file_there_are_no_texts() -> None:
    assert Descriptions({}).type("Tool") == ""


def extract_texts(**definitions: object) -> dict[str, str]:
    return descriptions.extract({"definitions": definitions})


def test_texts_are_found_on_types_members_and_lifted_objects() -> None:
    found = extract_texts(
        Call={
            "description": "A call.",
            "properties": {
                "params": {
                    "description": "Its params.",
                    "properties": {"name": {"description": "Of the tool."}},
                },
                "list": {
                    "type": "array",
                    "items": {"properties": {"x": {"description": "In it."}}},
                },
            },
        },
        Anything=True,
    )
    assert (
        found.items()
        >= {
            "Call": "A call.",
            "Call.params": "Its params.",
            "CallParams": "Its params.",
            "CallParams.name": "Of the tool.",
            "CallList.x": "In it.",
        }.items()
    )


def test_links_become_words() -> None:
    for text, plain in (
        ("See {@link Tool}.", "See Tool."),
        ("See {@link Tool | the tool}.", "See the tool."),
        ("See {@link Tool|the tool} and {@link Other  |  that }.", "See the tool and that."),
        ("See {@link https://example.com/x}.", "See https://example.com/x."),
        ("See {@link https://example.com | the page}.", "See the page."),
        ("See {@link Tool.name}.", "See .name."),
        ("No link {here}.", "No link {here}."),
        ("Open {@link Tool", "Open {@link Tool"),
    ):
        with tables.case(text):
            assert extract_texts(Tool={"description": text})["Tool"] == plain


@pytest.mark.parametrize("text", [None, 1, ["x"], {"x": "y"}])
def test_a_description_that_is_no_text_is_none(text: object) -> None:
    assert (
        extract_texts(Tool={"description": text, "properties": {"x": {"description": text}}}) == {}
    )

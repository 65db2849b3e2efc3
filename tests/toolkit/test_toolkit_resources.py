"""Resources: fixed ones and templates, and their contents."""

from itertools import product
from typing import Any

import pytest
from pydantic import BaseModel
from support.revisions import HANDSHAKE, OLD, REVISIONS
from support.tables import case
from support.toolkit.kits import (
    Refused,
    ResourceNotFound,
    ToolError,
    answers,
    kit,
    mcp,
    prompt,
    resource,
)

m: Any = mcp.models


class Forecast(BaseModel):
    place: str


@resource("notes:readme", title="Read me", mime_type="text/markdown", size=6)
def readme(self: object) -> str:
    """What to know first."""
    return "# Hi\n"


@resource("notes:logo")
async def logo(self: object) -> bytes:
    return b"\x00\xff"


@resource("town://{place}/{number}", name="town", description="A town.")
def town(self: object, number: int, place: str) -> Forecast:
    if place == "Atlantis":
        raise ResourceNotFound
    return Forecast(place=f"{place} {number!r}")


@resource("town://{place}/all")
def hidden(self: object, place: str) -> str:
    return f"all of {place}"


@resource("file:///{+path}")
def file(self: object, path: str) -> str:
    return path


def library(revision: str = OLD) -> Any:
    return kit(revision, readme=readme, logo=logo, town=town, hidden=hidden, file=file)()


def reading(uri: str, server: Any = None, revision: str = OLD) -> Any:
    """What comes of reading a URI."""
    server = library(revision) if server is None else server
    (answer,) = answers(server, revision, ("resources/read", {"uri": uri}))
    return answer if isinstance(answer, Refused) else answer["contents"]


def test_fixed_uris_and_templates_are_listed_apart() -> None:
    for revision in REVISIONS:
        with case(revision):
            fixed, templates = answers(
                library(revision),
                revision,
                ("resources/list", {}),
                ("resources/templates/list", {}),
            )
            first, second = fixed["resources"]
            described = {
                "uri": "notes:readme",
                "name": "readme",
                "description": "What to know first.",
            }
            title = {"title": "Read me"} if revision >= "2025-06-18" else {}
            assert first == {**described, **title, "mimeType": "text/markdown", "size": 6}
            assert second == {"uri": "notes:logo", "name": "logo"}
            assert [template["uriTemplate"] for template in templates["resourceTemplates"]] == [
                "town://{place}/{number}",
                "town://{place}/all",
                "file:///{+path}",
            ]
            assert templates["resourceTemplates"][0]["name"] == "town"


def test_variables_are_decoded_once_and_read_as_their_types() -> None:
    (contents,) = reading("town://S%C3%A3o%20Paulo%2525/07")
    assert contents["text"] == '{"place":"São Paulo%25 7"}'
    assert contents["uri"] == "town://S%C3%A3o%20Paulo%2525/07"


def test_the_first_template_that_fits_answers() -> None:
    # No number is written so, which leaves it to the next.
    (contents,) = reading("town://Oslo/all")
    assert contents["text"] == "all of Oslo"


def test_unknown_resource_is_not_found() -> None:
    for uri, revision in product(
        [
            *("notes:nothing", "town://Oslo/many", "town://Atlantis/1", "TOWN://Oslo/1", ""),
            *(
                "town://..%2fOslo/1",
                "file:///../etc/passwd",
                "file:///a/%2e%2e/b",
                "notes:readme?x",
            ),
        ],
        REVISIONS,
    ):
        with case((uri, revision)):
            refused = reading(uri, revision=revision)
            assert isinstance(refused, Refused)
            assert refused.code == (-32602 if revision not in HANDSHAKE else -32002)
            assert refused.message.partition("; did you mean ")[0] == "Resource not found"
            assert refused.data == {"uri": uri}


def of(value: object, **options: Any) -> Any:
    @resource("a:b", **options)
    def function(self: object) -> Any:
        return value

    return kit(function=function)()


def test_contents_stay_what_they_are() -> None:
    for value, contents in [
        (m.TextResourceContents(uri="a:c", text="x"), [{"uri": "a:c", "text": "x"}]),
        (
            [
                m.TextResourceContents(uri="a:c", text="x"),
                m.BlobResourceContents(uri="a:d", blob="AA=="),
            ],
            [{"uri": "a:c", "text": "x"}, {"uri": "a:d", "blob": "AA=="}],
        ),
        (m.ReadResourceResult(contents=[]), []),
        ([], [{"uri": "a:b", "text": "[]", "mimeType": "application/json"}]),
        (
            [Forecast(place="a")],
            [{"uri": "a:b", "text": '[{"place":"a"}]', "mimeType": "application/json"}],
        ),
        (float("nan"), [{"uri": "a:b", "text": "null", "mimeType": "application/json"}]),
        (None, [{"uri": "a:b", "text": "null", "mimeType": "application/json"}]),
    ]:
        assert reading("a:b", of(value)) == contents


def test_given_mime_type_is_used() -> None:
    (contents,) = reading("a:b", of({"a": 1}, mime_type="application/geo+json"))
    assert contents["mimeType"] == "application/geo+json"


def test_a_tool_error_in_a_prompt_or_a_resource_is_an_error_with_its_text() -> None:
    @prompt
    @resource("a:{b}")
    async def function(self: object, b: str = "") -> str:
        raise ToolError(f"no {b}")

    requests: tuple[tuple[str, Any], ...] = (
        ("resources/read", {"uri": "a:c"}),
        ("prompts/get", {"name": "function", "arguments": {"b": "c"}}),
    )
    for revision in REVISIONS:
        with case(revision):
            refused = answers(kit(revision, function=function)(), revision, *requests)
            assert [(refusal.code, refusal.message) for refusal in refused] == [
                (-32603, "no c")
            ] * 2


def test_a_bad_template_names_its_function_when_the_class_is_made() -> None:
    @resource("a:{?q}")
    def search(self: object, q: str) -> str:
        return q

    with pytest.raises(ValueError, match=r"search: the URI template 'a:\{\?q\}'.* level 3"):
        kit(search=search)


def test_a_resource_needs_a_uri() -> None:
    def note(self: object) -> str:
        return ""

    with pytest.raises(TypeError, match=r"@resource needs a URI"):
        resource(note)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

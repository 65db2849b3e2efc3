"""Images, sounds and files that functions return."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp_revisions import Audio, File, Image
from support.json_types import Json
from support.revisions import OLD, REVISIONS
from support.tables import case
from support.toolkit.kits import answers, asking, call, kit, listed_tools, prompt, resource, tool

DATA = b"\x89PNG\r\n\xff"
BASE64 = b64encode(DATA).decode()


def test_the_type_follows_from_what_is_said() -> None:
    for media, expected in [
        (Image(data=DATA), "image/png"),
        (Image(data=DATA, format="jpg"), "image/jpeg"),
        (Image(data=DATA, format="webp"), "image/webp"),
        (Image(data=DATA, format="unheard"), "image/unheard"),
        (Image(data=DATA, mime_type="image/x-own"), "image/x-own"),
        (Image(data=DATA, name="a.GIF"), "image/gif"),
        (Audio(data=DATA), "audio/wav"),
        (Audio(data=DATA, format="mp3"), "audio/mpeg"),
        (Audio(data=DATA, format="mp4"), "audio/mp4"),
        (File(data=DATA), "application/octet-stream"),
        (File(data=DATA, format="pdf"), "application/pdf"),
        (File(data=DATA, format="unheard"), "application/unheard"),
        (File(data=DATA, name="notes.md"), "text/markdown"),
        (File(data=DATA, name="notes.unheard"), "application/octet-stream"),
    ]:
        with case((type(media), expected)):
            assert media.mime_type == expected


def test_a_path_is_read_and_its_folder_stays_unsaid(tmp_path: Path) -> None:
    path = tmp_path / "a plot.png"
    path.write_bytes(DATA)
    for given in (path, str(path)):
        image = Image(given)
        assert (image.data, image.name, image.mime_type) == (DATA, "a plot.png", "image/png")
    block = File(path).block(frozenset())
    assert block["resource"] == {
        "uri": "file:///a%20plot.png",
        "mimeType": "image/png",
        "blob": BASE64,
    }
    with pytest.raises(FileNotFoundError):
        Image(tmp_path / "none.png")
    neither_nor_both: list[dict[str, Any]] = [{}, {"path": path, "data": DATA}]
    for wrong in neither_nor_both:
        with pytest.raises(TypeError, match="Image takes either a path or data"):
            Image(**wrong)


def returned_content(value: object, annotation: Any, revision: str) -> Json:
    def function(self: object) -> Any:
        return value

    function.__annotations__["return"] = annotation
    server = kit(revision, function=tool(function))()
    assert "outputSchema" not in listed_tools(server, revision)["function"]
    answer = call(server, "function", revision)
    assert "structuredContent" not in answer
    return answer["content"]


def test_tools_return_them_alone_and_in_lists() -> None:
    image = {"type": "image", "data": BASE64, "mimeType": "image/png"}
    text = {"type": "text", "text": "a"}
    for value, annotation, content in [
        (Image(data=DATA), Image, [image]),
        (None, Image | None, []),
        (["a", Image(data=DATA)], list[Image | str], [text, image]),
        (["a", "a"], list[Image | str], [text, text]),
        ((Image(data=DATA), "a"), tuple[Image, str], [image, text]),
        ([Image(data=DATA)], Sequence[Image], [image]),
        (Image(data=DATA), Any, [image]),
    ]:
        for revision in REVISIONS:
            with case((annotation, revision)):
                assert returned_content(value, annotation, revision) == content


def test_a_file_is_embedded_as_text_or_as_bytes() -> None:
    for file, member in [
        (File(data=b"# a", name="a.md"), {"text": "# a"}),
        (File(data=b"{}", format="json"), {"text": "{}"}),
        (File(data=DATA, name="a.md"), {"blob": BASE64}),
        (File(data=DATA), {"blob": BASE64}),
    ]:
        with case(member):
            (block,) = returned_content(file, File, OLD)
            assert block["type"] == "resource"
            found = block["resource"]
            assert found.pop("mimeType") == file.mime_type
            assert found.pop("uri").startswith("file:")
            assert found == member


async def test_sounds_are_embedded_where_the_revision_has_none() -> None:
    # A server of the first revision, and one that is translated for its clients.
    for own, spoken in [("2024-11-05", "2024-11-05"), (OLD, "2024-11-05"), (OLD, OLD)]:
        with case((own, spoken)):

            @tool
            def hum(self: object) -> Audio:
                return Audio(data=DATA)

            server = kit(own, hum=hum)()
            async with asking(server, spoken, bridged=True) as ask:
                (block,) = (await ask("tools/call", name="hum"))["content"]
            if spoken == OLD:
                assert block == {"type": "audio", "data": BASE64, "mimeType": "audio/wav"}
            else:
                assert block["type"] == "resource"
                assert block["resource"]["uri"].startswith("audio:")
                assert block["resource"]["mimeType"] == "audio/wav"
                assert b64decode(block["resource"]["blob"]) == DATA


def test_prompts_and_resources_return_them_too() -> None:
    @prompt
    def describe(self: object) -> list[str | Image]:
        return ["What is it?", Image(data=DATA)]

    @resource("a:image")
    def image(self: object) -> Image:
        return Image(data=DATA)

    @resource("a:notes")
    def notes(self: object) -> File:
        return File(data=b"# a", name="a.md")

    for revision in REVISIONS:
        with case(revision):
            server = kit(revision, describe=describe, image=image, notes=notes)()
            asked: list[Any] = [
                ("prompts/get", {"name": "describe"}),
                ("resources/read", {"uri": "a:image"}),
                ("resources/read", {"uri": "a:notes"}),
            ]
            got, drawn, written = answers(server, revision, *asked)
            assert got["messages"][1] == {
                "role": "user",
                "content": {"type": "image", "data": BASE64, "mimeType": "image/png"},
            }
            assert drawn["contents"] == [
                {"uri": "a:image", "mimeType": "image/png", "blob": BASE64}
            ]
            assert written["contents"] == [
                {"uri": "a:notes", "mimeType": "text/markdown", "text": "# a"}
            ]

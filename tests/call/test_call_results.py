"""Results as pages for people, and bytes in them as files."""

import base64
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.runtime.core.options import Progress
from mcp_protogen.servers.call.file_endings import ending_of
from mcp_protogen.servers.call.log_levels import is_as_severe
from mcp_protogen.servers.call.progress import fit_line, log_line, progress_line
from mcp_protogen.servers.call.results import (
    Saver,
    decode_base64,
    prompt_page,
    refuse_broken,
    tool_page,
)
from support.tables import case

DATA = base64.b64encode(b"abc").decode()


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


PAGES: dict[str, tuple[dict[str, Any], str]] = {
    "text": ({"content": [text("a"), text("b\n")]}, "a\nb\n"),
    "nothing": ({"content": []}, ""),
    "an image": (
        {"content": [{"type": "image", "data": DATA, "mimeType": "image/png"}]},
        "[image image/png, 3 bytes; --save DIR keeps it]\n",
    ),
    "no base64": (
        {"content": [{"type": "audio", "data": "?", "mimeType": "audio/wav"}]},
        "[audio audio/wav, not in base64]\n",
    ),
    "a link": (
        {"content": [{"type": "resource_link", "name": "n", "uri": "x:1", "description": "d"}]},
        "[link n x:1] d\n",
    ),
    "a resource": (
        {"content": [{"type": "resource", "resource": {"uri": "x:1", "text": "t"}}]},
        "[resource x:1]\nt\n",
    ),
    "bytes of a resource": (
        {"content": [{"type": "resource", "resource": {"uri": "x:1", "blob": DATA}}]},
        "[resource x:1 application/octet-stream, 3 bytes; --save DIR keeps it]\n",
    ),
    "a later block": ({"content": [{"type": "video"}]}, '{\n  "type": "video"\n}\n'),
    "structured": (
        {"content": [text('{"a":1}')], "structuredContent": {"a": 1}},
        '{\n  "a": 1\n}\n',
    ),
    "structured beside text": (
        {"content": [text("about")], "structuredContent": {"a": 1}},
        'about\n{\n  "a": 1\n}\n',
    ),
    "wrapped": ({"content": [text("hi")], "structuredContent": {"result": "hi"}}, "hi\n"),
    "structured text": ({"content": [text("hi")], "structuredContent": "hi"}, "hi\n"),
    "a wrapped number": ({"content": [text("5")], "structuredContent": {"result": 5}}, "5\n"),
}


def test_a_result_is_a_page_in_which_nothing_is_said_twice() -> None:
    for name, (result, page) in PAGES.items():
        with case(name):
            assert tool_page(result, Saver(None, "t")) == page


def test_the_messages_of_a_prompt_are_a_page() -> None:
    messages = [{"role": "user", "content": text("a\nb")}, {"role": "assistant", "content": None}]
    assert prompt_page({"messages": messages}, Saver(None, "p")) == (
        "user:\n  a\n  b\nassistant:\n  null\n"
    )


def test_bytes_are_saved_under_safe_names_and_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    saver = Saver(folder, "../draw it")
    image = {"type": "image", "data": DATA, "mimeType": "image/png"}
    blobs = [
        {"type": "resource", "resource": {"uri": uri, "blob": DATA}}
        for uri in ("x:///../../etc/pass%2Fwd.tar", "x:", "x:///%2e%2e")
    ]
    page = tool_page({"content": [image, image, *blobs]}, saver)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        file.name for file in saver.saved
    )
    assert {file.name for file in saver.saved} == {
        *("draw-it.png", "draw-it-2.png", "wd.tar", "draw-it.bin", "file.bin")
    }
    assert {file.read_bytes() for file in saver.saved} == {b"abc"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert str(saver.saved[0]) in page


ENCODED: dict[str, bytes | None] = {
    "aGVs\nbG8=\r\n": b"hello",
    "aGVs bG8\t=": b"hello",
    "aGk": b"hi",
    "aGk=": b"hi",
    "_-8=": b"\xff\xef",
    "_-8": b"\xff\xef",
    "/+8=": b"\xff\xef",
    "": b"",
    "%%%": None,
    "aGk=aGk=": None,
    "a": None,
    "aGké": None,
    "data:image/png;base64,aGk=": None,
}


def test_base64_of_all_common_encoders_is_decoded() -> None:
    for text_, content in ENCODED.items():
        with case(text_):
            assert decode_base64(text_) == content
    assert decode_base64(None) is decode_base64(5) is None


def test_broken_base64_is_described_and_remembered_where_a_file_was_wanted(tmp_path: Path) -> None:
    blocks = [
        {"type": "image", "data": "%%%", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "x:1", "blob": "%%%"}},
        {"type": "audio", "data": DATA, "mimeType": "audio/wav"},
    ]
    saver = Saver(tmp_path, "t")
    page = tool_page({"content": blocks}, saver)
    assert "[image image/png, not in base64]" in page
    assert saver.unsaved == ["image image/png", "resource x:1 application/octet-stream"]
    assert [path.name for path in tmp_path.iterdir()] == ["t.wav"]
    with pytest.raises(ProblemError) as caught:
        refuse_broken(saver.unsaved, "t")
    assert [problem.code for problem in caught.value.problems] == ["invalid-response"] * 2
    described = Saver(None, "t")
    tool_page({"content": blocks}, described)
    assert described.unsaved == []


def test_media_types_have_their_usual_endings() -> None:
    for type_, ending in (
        ("audio/wav", ".wav"),
        ("audio/x-wav", ".wav"),
        ("Audio/WAV; codecs=1", ".wav"),
        ("audio/mpeg", ".mp3"),
        ("audio/ogg", ".ogg"),
        ("audio/webm", ".webm"),
        ("image/jpeg", ".jpg"),
        ("image/webp", ".webp"),
        ("image/svg+xml", ".svg"),
        ("application/pdf", ".pdf"),
        ("application/gzip", ".gz"),
        ("application/xml", ".xml"),
        ("application/vnd.api+json", ".json"),
        ("text/markdown", ".md"),
        ("text/plain", ".txt"),
        ("video/mp4", ".mp4"),
        ("application/octet-stream", None),
        ("nothing", None),
    ):
        with case(type_):
            assert ending_of(type_) == ending


def test_progress_is_a_line_that_fits() -> None:
    for progress, line in (
        (Progress(1, 2, "packing"), "t  [############------------]  50%  packing"),
        (Progress(9, 2), "t  [########################] 100%"),
        (Progress(3, None, "a\x1b[2Jb\nc"), "t  3  a\\u001b[2Jb\\nc"),
        (Progress(0, 0), "t  0"),
    ):
        with case(progress):
            assert progress_line("t", progress, 60) == line
    assert progress_line("t", Progress(1, 2, "x" * 80), 40).endswith("xx…")
    assert len(progress_line("t", Progress(1, 2, "x" * 80), 40)) == 40
    assert fit_line("日本語日本語", 7) == "日本語…"


def test_log_entries_are_lines_of_a_level() -> None:
    assert log_line({"level": "info", "logger": "db", "data": {"a": 1}}) == '[info] db: {"a": 1}'
    assert log_line({"level": "error", "data": "x"}) == "[error] x"
    assert is_as_severe("error", "warning") and is_as_severe("later", "emergency")
    assert not is_as_severe("info", "warning")

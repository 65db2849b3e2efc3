"""Results of calls as pages for people; binary contents become files."""

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.files import writing
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, raise_errors
from mcp_protogen.runtime.core.models.base import member_at
from mcp_protogen.runtime.core.value_paths import USUAL_PLACES, ToolPlaces
from mcp_protogen.servers.call.file_endings import BYTES, ending_of

JSON: TypeAlias = Mapping[str, Any]

_WRAPPED: Final = "result"
"""The only member of the object that many servers put around other structured content."""
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")
_SPACES: Final = str.maketrans("", "", " \t\r\n")
_AFTER_PATH: Final = re.compile(r"[?#].*", re.DOTALL)
_LONGEST_NAME: Final = 60


@dataclass(slots=True)
class Saver:
    """A writer of binary contents into a folder; without a folder, it describes them.

    Each file gets a new name: nothing is ever overwritten. `unsaved` names contents that should
    become files but are not in base64.
    """

    folder: Path | None
    stem: str
    saved: list[Path] = field(default_factory=list[Path])
    unsaved: list[str] = field(default_factory=list[str])

    def describe(self, what: str, data: object, type_: object, uri: str = "") -> str:
        """Return the text for base64 `data` on a page; write the data if there is a folder."""
        kind = type_ if isinstance(type_, str) else BYTES
        content = decode_base64(data)
        if content is None:
            if self.folder is not None:
                self.unsaved.append(f"{what} {kind}")
            return f"[{what} {kind}, not in base64]"
        size = f"{len(content):,} bytes"
        if self.folder is None:
            return f"[{what} {kind}, {size}; --save DIR keeps it]"
        return f"[{what} {kind}, {size}: {self._write(content, kind, uri)}]"

    def _write(self, content: bytes, type_: str, uri: str) -> Path:
        assert self.folder is not None
        # A server may send an invalid URI.
        address = _AFTER_PATH.sub("", uri.partition(":")[2]).rstrip("/")
        last = unquote(address.rpartition("/")[2])
        stem = _UNSAFE.sub("-", Path(last).stem or self.stem).strip("-")[:_LONGEST_NAME] or "file"
        suffix = ending_of(type_) or f".{_UNSAFE.sub('', Path(last).suffix) or 'bin'}"
        with writing(self.folder, "--save takes a folder"):
            self.folder.mkdir(parents=True, exist_ok=True)
            number = 1
            while True:
                path = self.folder / f"{stem}{f'-{number}' if number > 1 else ''}{suffix}"
                try:
                    with path.open("xb") as file:
                        file.write(content)
                except FileExistsError:
                    number += 1
                    continue
                self.saved.append(path)
                return path


def tool_page(result: JSON, saver: Saver, places: ToolPlaces = USUAL_PLACES) -> str:
    """Return the result of a tool as a page: its content, and structured content beside it."""
    listed = member_at(result, places.content)
    blocks: list[Any] = listed if is_array(listed) else []
    structured = member_at(result, places.structured)
    if structured is None:
        return _lines(block_text(block, saver) for block in blocks)
    others = [block for block in blocks if not _says(block, structured)]
    shown = structured
    if is_object(structured) and structured.keys() == {_WRAPPED}:
        shown = structured[_WRAPPED]
    text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, indent=2)
    return _lines([*(block_text(block, saver) for block in others), text])


def prompt_page(result: JSON, saver: Saver) -> str:
    """Return the messages of a prompt as a page."""
    listed = result.get("messages")
    messages: list[Any] = listed if is_array(listed) else []
    return _lines(
        f"{message.get('role')}:\n{_indent(block_text(message.get('content'), saver))}"
        for message in messages
        if is_object(message)
    )


def block_text(block: object, saver: Saver) -> str:
    """Return a content block as text for people."""
    if not is_object(block):
        return on_one_line(block)
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind in ("image", "audio"):
        return saver.describe(str(kind), block.get("data"), block.get("mimeType"))
    if kind == "resource" and is_object(resource := block.get("resource")):
        return resource_text(resource, saver)
    if kind == "resource_link":
        named = " ".join(str(block[key]) for key in ("name", "uri") if block.get(key))
        note = block.get("description")
        return f"[link {named}]{f' {note}' if note else ''}"
    return json.dumps(block, ensure_ascii=False, indent=2)


def resource_text(resource: JSON, saver: Saver) -> str:
    """Return an embedded resource as text for people, under its URI."""
    uri = str(resource.get("uri", ""))
    if isinstance(text := resource.get("text"), str):
        return f"[resource {uri}]\n{text}"
    return saver.describe(f"resource {uri}", resource.get("blob"), resource.get("mimeType"), uri)


def resource_bytes(resource: JSON) -> bytes | None:
    """Return the content of a resource as bytes; None if it is neither text nor base64."""
    if isinstance(text := resource.get("text"), str):
        return text.encode("utf-8", "surrogatepass")
    return decode_base64(resource.get("blob"))


def decode_base64(data: object) -> bytes | None:
    """Return the bytes of a base64 text; None for anything else.

    Lines, the alphabet for URLs and missing padding are fine: common encoders write them.
    """
    if not isinstance(data, str):
        return None
    text = data.translate(_SPACES).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return None


def refuse_broken(contents: Iterable[str], place: str) -> None:
    """Raise `ProblemError` (`invalid-response`) for contents that are not in base64."""
    hint = "--json shows what the server sent"
    raise_errors(
        [
            Problem("invalid-response", f"{content} is not in base64", place, hint=hint)
            for content in contents
        ]
    )


def _says(block: object, structured: Any) -> bool:
    """Return whether a block of text only repeats the structured content, as servers do."""
    if not is_object(block) or block.get("type") != "text":
        return False
    text, meant = block.get("text"), [structured]
    if is_object(structured) and _WRAPPED in structured:
        meant.append(structured[_WRAPPED])
    if text in meant:
        return True
    try:
        return json.loads(str(text)) in meant
    except ValueError:
        return False


def _lines(texts: Iterator[str] | list[str]) -> str:
    return "".join(f"{text}\n" if not text.endswith("\n") else text for text in texts)


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())

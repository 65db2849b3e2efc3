"""One-line texts for types, members, methods, capabilities and error codes.

Ours come from `schema/descriptions.json`. Texts in a schema of the user take precedence for types
and members. The user may choose only these, or none.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.names import pascal
from mcp_protogen.base.problems import raise_errors
from mcp_protogen.pipeline.config import Docstrings
from mcp_protogen.pipeline.inputs.file_formats import check_format
from mcp_protogen.pipeline.inputs.todo import TODO

Json = dict[str, Any]
_LINK = re.compile(r"\{@link\s+([^}]*)\}")
_OF_SITE = re.compile(r"\]\((?=/)")
SITE = "https://modelcontextprotocol.io"
"""The site of pages that a published schema names only by path."""


@dataclass(frozen=True, slots=True)
class Descriptions:
    """Texts by kind and key; a missing one is empty.

    `own` are texts in a schema of the user; `docstrings` chooses the texts.
    """

    texts: Mapping[str, Mapping[str, str]]
    own: Mapping[str, str] = field(default_factory=dict[str, str])
    docstrings: Docstrings = Docstrings.OURS

    @property
    def has_own_texts(self) -> bool:
        """Return whether types and members may have our texts."""
        return self.docstrings is Docstrings.OURS

    def type(self, name: str) -> str:
        """Return the text about a type."""
        return self._own_text(name) or (self._text("types", name) if self.has_own_texts else "")

    def member(self, owner: str, name: str) -> str:
        """Return the text about a member; `*.name` is for every type without its own entry."""
        key = f"{owner}.{name}"
        if text := self._own_text(key):
            return text
        return (
            (self._text("fields", key) or self._text("fields", f"*.{name}"))
            if self.has_own_texts
            else ""
        )

    def method(self, name: str, *, deprecated: bool = False) -> str:
        """Return the text about a method, with its deprecation."""
        is_marked = deprecated and self.docstrings is not Docstrings.NONE
        return add_deprecation(self._text("methods", name), is_marked)

    def capability(self, role: str, path: tuple[str, ...]) -> str:
        """Return the text about a capability."""
        return self._text("capabilities", ".".join((role, *path)))

    def error(self, name: str) -> str:
        """Return the text about an error code."""
        return self._text("errors", name)

    def _own_text(self, key: str) -> str:
        return "" if self.docstrings is Docstrings.NONE else self.own.get(key, "")

    def _text(self, kind: str, key: str) -> str:
        if self.docstrings is Docstrings.NONE:
            return ""
        text = self.texts.get(kind, {}).get(key, "")
        return "" if text == TODO else text


def add_deprecation(text: str, deprecated: bool) -> str:
    """Return a description that mentions a deprecation."""
    if not deprecated or "eprecated" in text:
        return text
    return f"{text} Deprecated.".strip()


def load(
    path: Path,
    revision: str,
    own: Mapping[str, str] | None = None,
    absorbed: Mapping[str, Mapping[str, str]] | None = None,
) -> Descriptions:
    """Return the texts for one revision: the common ones, those of extensions, its overrides.

    Raise `ProblemError` (`bad-form`) for one that is not a string.
    """
    document: Json = parse_json(path.read_bytes(), str(path))
    overrides: Json = document.get("overrides", {}).get(revision, {})
    texts = {
        kind: {**entries, **(absorbed or {}).get(kind, {}), **overrides.get(kind, {})}
        for kind, entries in document.items()
        if kind != "overrides"
    }
    if not all(isinstance(text, str) for entries in texts.values() for text in entries.values()):
        raise_errors(check_format(document, "descriptions", f"schema/{path.name}"))
    return Descriptions(texts, own or {})


def extract(schema: Json) -> dict[str, str]:
    """Return the descriptions of a published schema, by `Type` and `Type.member`.

    Inline objects have the names of generated code: parent and property.
    """
    definitions: Json = schema.get("$defs") or schema.get("definitions") or {}
    texts: dict[str, str] = {}
    for name, definition in definitions.items():
        if is_object(definition):
            texts.update(_extract(name, definition))
    return {key: _plain(text, definitions) for key, text in texts.items()}


def _extract(name: str, schema: Json) -> Iterator[tuple[str, str]]:
    if isinstance(schema.get("description"), str):
        yield name, schema["description"]
    members = schema.get("properties")
    for member, value in members.items() if is_object(members) else ():
        if not is_object(value):
            continue
        if isinstance(value.get("description"), str):
            yield f"{name}.{member}", value["description"]
        inner = value
        while is_object(inner.get("items")):
            inner = inner["items"]
        yield from _extract(name + pascal(member), inner)


def _plain(text: str, definitions: Json) -> str:
    """Return a text without `{@link …}` marks, and with whole URLs in other links.

    A label that is joined to its type begins after the longest type name.
    """

    def link_text(link: re.Match[str]) -> str:
        definition, bar, label = link[1].partition("|")
        if bar:
            return label.strip()
        prefix = max(
            (name for name in definitions if definition.startswith(name)), key=len, default=""
        )
        return definition[len(prefix) :].strip() or definition.strip()

    return _OF_SITE.sub(f"]({SITE}", _LINK.sub(link_text, text))

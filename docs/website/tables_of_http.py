"""Tables of HTTP by revision: the fields of its transport, and the status of errors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs import facts

from website.markdown import table

NOTE: Final = (
    "The [explorer](explorer/index.html) says when a field is required, and which page says so."
)
_NONE: Final = "–"
_OLD: Final = "#http-with-sse"
"""Pages that describe the transport of a revision, if it is not Streamable HTTP."""


def fields() -> str:
    """Return the table of header fields, of requests and then of responses, by revision."""
    folder = schema_folder()
    known = {
        revision: facts.load(folder, revision).document
        for revision in facts.revisions_with_facts(folder)
    }
    shown: dict[str, Any] = {
        field: document for field, document in known.items() if document.get("headers")
    }
    rows: list[Sequence[str]] = [
        ("the transport", *(_transport(field["headers"]) for field in shown.values()))
    ]
    for side in ("request", "response"):
        found = {field: document["headers"].get(side, {}) for field, document in shown.items()}
        rows += _fields(side, found)
    return table(("field", *shown), rows)


def statuses() -> str:
    """Return the table of statuses by the code of an error and by revision."""
    folder = schema_folder()
    known = {
        revision: facts.load(folder, revision).document["errors"]
        for revision in facts.revisions_with_facts(folder)
    }
    names = {
        int(code): fact["name"].replace("_", " ").lower()
        for errors in known.values()
        for code, fact in errors.items()
        if fact.get("http_status")
    }
    rows = (
        (f"`{code}`", names[code], *(_status(errors.get(str(code))) for errors in known.values()))
        for code in sorted(names, reverse=True)
    )
    return table(("code", "error", *known), rows)


def _status(fact: Mapping[str, Any] | None) -> str:
    return _NONE if fact is None else str(fact.get("http_status", 200))


def _transport(headers: Mapping[str, Any]) -> str:
    sources = [source_page["source"] for side in headers.values() for source_page in side.values()]
    return "HTTP with SSE" if any(_OLD in source for source in sources) else "Streamable HTTP"


def _fields(side: str, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Sequence[str]]:
    for name in sorted({name for field in found.values() for name in field}):
        levels = (
            field[name].get("level", "") if name in field else _NONE for field in found.values()
        )
        yield f"`{name}` of a {side}", *levels

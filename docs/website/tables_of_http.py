"""Tables of HTTP by revision: the fields of its transport, and the status of errors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs import facts
from mcp_protogen.runtime.core import errors
from mcp_protogen.runtime.http.server.response import HANDSHAKE, STATELESS

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
    """Return the table of statuses by the code of an error."""
    names = {
        value: name.replace("_", " ").lower()
        for name, value in vars(errors).items()
        if name.isupper() and isinstance(value, int)
    }
    rows = (
        (f"`{code}`", names[code], *(str(era.get(code, 200)) for era in (HANDSHAKE, STATELESS)))
        for code in sorted({*HANDSHAKE, *STATELESS}, reverse=True)
    )
    return table(("code", "error", "with a handshake", "without"), rows)


def _transport(headers: Mapping[str, Any]) -> str:
    sources = [source_page["source"] for side in headers.values() for source_page in side.values()]
    return "HTTP with SSE" if any(_OLD in source for source in sources) else "Streamable HTTP"


def _fields(side: str, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Sequence[str]]:
    for name in sorted({name for field in found.values() for name in field}):
        levels = (
            field[name].get("level", "") if name in field else _NONE for field in found.values()
        )
        yield f"`{name}` of a {side}", *levels

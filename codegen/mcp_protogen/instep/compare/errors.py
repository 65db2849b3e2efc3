"""Differences between the error codes of two sides: those of facts, and those in schemas.

A schema names a code as the constant of a type. Facts, such as which side answers with it, are
compared if both sides have facts of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mcp_protogen.base import jsonpointer
from mcp_protogen.instep.compare.definitions import Types
from mcp_protogen.instep.compare.revisions import ComparedRevision
from mcp_protogen.instep.compare.traffic import ErrorCode, error_code
from mcp_protogen.pipeline.ir import EMITTERS, Senders
from mcp_protogen.pipeline.reports.severities import Difference


@dataclass(frozen=True, slots=True)
class _Error:
    """A code, the side that answers with it, and its data; `stated` if facts have it."""

    code: int
    name: str
    emit: str
    data: str = ""
    stated: bool = True


def changes(types: Types) -> Iterator[Difference]:
    """Yield the differences between the error codes of two sides."""
    was, now = _errors(types.before), _errors(types.after)
    moved: set[int] = set()
    for name, old, new in _find_renumbered(types):
        moved |= {old.code, new.code}
        pointer = jsonpointer.join("$defs", name, *new.pointer)
        yield Difference(
            "error-renumbered", name, pointer, str(old.code), str(new.code), _senders(new, now)
        )
    yield from _resource_code_change(types)
    for code in sorted({*was, *now}):
        before, after = was.get(code), now.get(code)
        if before and after:
            yield from _compare(before, after)
        elif code in moved:
            continue
        elif after:
            yield _difference("added", after, "", f"sent by {after.emit}")
        elif before:
            yield _difference("removed", before, f"sent by {before.emit}", "")


def _errors(revision: ComparedRevision) -> Mapping[int, _Error]:
    """Return the errors by code: from facts, or from a type if facts have none.

    Without a fact, either side may answer with the code.
    """
    found = {
        error.code: _Error(error.code, error.name, error.emit, str(error.data or ""))
        for error in revision.ir.errors
    }
    for name, schema in revision.definitions.items():
        if (error := error_code(schema)) is not None:
            found.setdefault(error.code, _Error(error.code, name, "both", stated=False))
    return found


def _find_renumbered(types: Types) -> Iterator[tuple[str, ErrorCode, ErrorCode]]:
    """Yield the types of errors whose code has changed, by their new names."""
    for name, schema in types.before.definitions.items():
        called = types.new_names.get(name, name)
        old, new = error_code(schema), error_code(types.after.definitions.get(called, {}))
        if old and new and old.code != new.code:
            yield called, old, new


def _resource_code_change(types: Types) -> Iterator[Difference]:
    was, now = (side.ir.rules.resource_not_found for side in (types.before, types.after))
    if was != now:
        texts = str(was), str(now)
        yield Difference("error-replaced", "resource not found", "", *texts, EMITTERS["server"])


def _senders(error: ErrorCode, errors: Mapping[int, _Error]) -> Senders:
    return EMITTERS[errors[error.code].emit]


def _compare(old: _Error, new: _Error) -> Iterator[Difference]:
    if not (old.stated and new.stated):
        return
    if old.emit != new.emit and new.emit == "never":
        yield _difference("forbidden", old, f"sent by {old.emit}", "sent by nobody")
        return
    if old.emit != new.emit:
        yield _difference("sender-changed", new, f"sent by {old.emit}", f"sent by {new.emit}")
    if old.data != new.data:
        yield _difference("data-changed", new, old.data, new.data)


def _difference(change: str, error: _Error, before: str, after: str) -> Difference:
    item = f"{error.code} {error.name}"
    return Difference(f"error-{change}", item, "", before, after, EMITTERS[error.emit])

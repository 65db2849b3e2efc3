"""The patches of the revision before: which ones fit, and the state of the others."""

from collections.abc import Sequence
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.inputs import patches
from mcp_protogen.inputs.ledger import Fit, PatchFit, mended
from mcp_protogen.inputs.todo import TODO

Json = dict[str, Any]


def ledger_file(own: Json | None, schema: Json, before: Sequence[Json], place: str) -> Json:
    """Return the file of patches, with those of the revision before that it lacks.

    A patch that fits becomes an entry. One that does not fit is listed in a new file: its subject
    may be done or gone, or else somebody has to look.
    """
    document = own or {"patches": []}
    entries: list[Json] = document["patches"]
    named = {entry["pointer"] for entry in (*entries, *document.get("left_out", ()))}
    rest = [entry for entry in before if entry["pointer"] not in named]
    tried = mended(patches.apply(schema, entries, place), rest, place)
    done = {**document, "patches": [*entries, *tried.entries]}
    left_out = [_left_out(one, schema) for one in tried.fits if one.fit is not Fit.FITS]
    return done if own or not left_out else {**done, "left_out": left_out}


def _left_out(one: PatchFit, schema: Json) -> Json:
    return {"pointer": one.pointer, "state": _state(one, schema), "reason": one.reason}


def _state(one: PatchFit, schema: Json) -> str:
    if one.fit is Fit.DONE:
        return "done"
    try:
        jsonpointer.get(schema, jsonpointer.join(*jsonpointer.split(one.pointer)[:2]))
    except jsonpointer.Absent:
        return "gone"
    return TODO

"""Tools whose callers choose the outputs of a result."""

from itertools import takewhile
from typing import Any

from ..connection import ResultText
from ..core.copies import put
from ..core.errors import InvalidParams
from ..core.json_pointers import pointer_along
from ..core.models.base import has_failed, member_at
from ..core.value_paths import PathEntry, ValuePath, find, keys_at
from ..server.context import failed_result


def answer_requested(tool: Any) -> None:
    """Let a tool answer with the outputs that a call requests, or else with content."""
    models, answer = tool.models, tool.answer
    requested = models.rules.requested_outputs
    usual = [dict(step.constants) for step in requested[-1:] if isinstance(step, PathEntry)]
    variants = find(tool.listed.to_wire(), (models.rules.content_variant or ())[:-1])
    content: ValuePath = models.places.content or ()
    place = tuple(takewhile(lambda step: isinstance(step, str), content))

    async def answer_with(server: Any, session: Any, *given: Any) -> Any:
        if not _may_request(session.__mcp_runtime__):
            # Translation leaves out what an older client does not know.
            return await answer(server, session, *given)
        wire = given[-1].to_wire()
        wanted = member_at(wire, requested[:-1]) or usual
        for number, entry in enumerate(wanted):
            known = any(True for _ in keys_at(variants, PathEntry(entry)))
            if not known or entry in wanted[:number]:
                pointer = f"/params{pointer_along(wire, requested[:-1])}/{number}"
                wrong = "Requested twice" if known else f"{tool.key} has no such output"
                raise InvalidParams("Invalid outputs", [(pointer, wrong)])
        result = await answer(server, session, *given)
        if isinstance(result, ResultText):
            result = models.read_result(result)
        if not isinstance(result, models.call_result) or has_failed(result):
            return result
        wire = result.to_wire()
        try:
            chosen = [find(wire, (*place, PathEntry(entry))) for entry in wanted]
        except LookupError:
            return failed_result(models.call_result, f"{tool.key} lacks a requested output.")
        return models.call_result.from_wire(put(wire, place, chosen))

    vars(tool)["answer"] = answer_with


def _may_request(context: Any) -> bool:
    """Return whether the client, and each server above, can request outputs."""
    tables = [context.spoken]
    while (context := getattr(context, "outer", None)) is not None:
        tables.append(context.table)
    return all(table.rules.requested_outputs for table in tables)

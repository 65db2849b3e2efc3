"""Tools whose callers choose the outputs of a result, by the constants of its variants."""

from collections.abc import Awaitable, Callable
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ..connection import ResultText
from ..core.copies import put
from ..core.errors import InvalidParams
from ..core.json import is_object, json_text
from ..core.json_pointers import pointer_along
from ..core.models.base import has_failed, member_at
from ..core.value_paths import PathEntry, ValuePath, find, keys_at
from ..server.context import failed_result

if TYPE_CHECKING:
    from .items import Tool


def with_requested(tool: "Tool", requested: ValuePath) -> Callable[..., Awaitable[Any]]:
    """Return the tool's `answer` with the outputs that a call requests, or else with content."""
    models, answer, path = tool.models, tool.answer, requested[:-1]
    usual = [dict(step.constants) for step in requested[-1:] if isinstance(step, PathEntry)]
    variants = find(tool.listed.to_wire(), (tool.models.rules.content_variant or ())[:-1])
    content = models.places.content or ()
    place = tuple(takewhile(lambda step: not isinstance(step, PathEntry), content))

    async def answer_requested(server: Any, session: Any, method: str, params: Any) -> Any:
        if session.__mcp_runtime__.spoken.rules.requested_outputs is None:
            # Older clients cannot choose: translation leaves out what they do not know.
            return await answer(server, session, method, params)
        wire = params.to_wire()
        wanted = member_at(wire, path) or usual
        for number, entry in enumerate(wanted):
            known = any(True for _ in keys_at(variants, PathEntry(entry)))
            if not known or entry in wanted[:number]:
                pointer = f"/params{pointer_along(wire, path)}/{number}"
                wrong = "Requested twice" if known else f"{tool.key} has no such output"
                raise InvalidParams("Invalid outputs", [(pointer, wrong)])
        result = await answer(server, session, method, params)
        if isinstance(result, ResultText):
            result = models.read_result(result)
        if not isinstance(result, models.call_result) or has_failed(result):
            return result
        wire = result.to_wire()
        outputs = find(wire, place)
        keys = [next(keys_at(outputs, PathEntry(entry)), None) for entry in wanted]
        if None in keys:
            lacking = json_text(wanted[keys.index(None)]).decode()
            return failed_result(models.call_result, f"{tool.key} returned no output {lacking}.")
        chosen: Any = [outputs[key] for key in keys]
        if is_object(outputs):
            chosen = dict(zip(keys, chosen, strict=True))
        return models.call_result.from_wire(put(wire, place, chosen))

    return answer_requested

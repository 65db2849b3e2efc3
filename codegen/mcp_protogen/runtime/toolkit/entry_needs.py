"""Calls of tools, refused to clients that lack the capabilities in the tool's `_meta`."""

from typing import Any

from pydantic import ValidationError

from ..core.connection_errors import MissingClientCapability
from ..core.middleware import meta_of
from ..core.models.base import WireModel
from ..rules.entry_needs import EntryNeeds


def check_needs(tool: Any, needs: EntryNeeds, model: type[WireModel]) -> None:
    """Let calls of a tool be checked; raise `TypeError` for needs that `model` cannot read."""
    declared = meta_of(tool.listed).get(needs.key)
    if declared is None:
        return
    try:
        model.from_wire(declared)
    except ValidationError as error:
        wrong = f"meta has invalid capabilities at {needs.key}"
        raise TypeError(f"{tool.signature.label}: {wrong}: {error}") from error
    answer = tool.answer

    async def answer_declared(server: Any, session: Any, *given: Any) -> Any:
        missing = needs.missing(tool.listed, session.__mcp_runtime__.peer_capabilities())
        if missing:
            wrong = f"{tool.key} needs capabilities that the client does not declare"
            raise MissingClientCapability(wrong, missing)
        return await answer(server, session, *given)

    vars(tool)["answer"] = answer_declared

"""Which revisions a target says it speaks."""

from collections.abc import Iterator
from typing import Any, cast

from mcp_protogen.audit.description import Description
from mcp_protogen.audit.names import folded, revision_in
from mcp_protogen.jsonvalue import is_array
from mcp_protogen.store.pins import load_pins

_LATEST = "latest"


def named_revisions(target: Description) -> frozenset[str]:
    """The pinned revisions that stand in the target's constants or the names of its modules."""
    named = {text for constant in target.constants for text in _texts(constant.value)}
    named |= {revision_in(module) or "" for module in target.modules}
    return frozenset(named & set(load_pins()))


def claimed_revision(target: Description) -> str:
    """The revision to audit if none is named.

    The one that its modules name, if they name one; or what a constant calls the latest; or the
    newest of those it names; or the newest there is.
    """
    pins = set(load_pins())
    in_modules = {revision_in(module) for module in target.modules} & pins
    if len(in_modules) == 1:
        return cast(str, in_modules.pop())
    latest = {
        text
        for constant in target.constants
        if _LATEST in folded(constant.name)
        for text in _texts(constant.value)
    }
    return max(latest & pins or named_revisions(target) or pins)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_array(value):
        yield from (item for item in value if isinstance(item, str))

"""The revisions that a target claims to speak."""

from collections.abc import Iterator
from typing import Any, cast

from mcp_protogen.audit.description import Description
from mcp_protogen.audit.names import folded, revision_in
from mcp_protogen.base.jsonvalue import is_array
from mcp_protogen.inputs.pins import load_pins

_LATEST = "latest"


def named_revisions(target: Description) -> frozenset[str]:
    """Return the pinned revisions that constants or module names of the target contain."""
    named = {text for constant in target.constants for text in _texts(constant.value)}
    named |= {revision_in(module) or "" for module in target.modules}
    return frozenset(named & set(load_pins()))


def claimed_revision(target: Description) -> str:
    """Return the revision to audit if none is named.

    It is the only one that module names contain; or the one that a constant calls the latest; or
    the newest that the target names; or the newest that is pinned.
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

"""Names in an SDK: the revisions that it names, and the same names in different spelling."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from mcp_protogen.base.jsonvalue import is_array
from mcp_protogen.instep.audit.description import Description, SdkType
from mcp_protogen.pipeline.inputs.pins import load_pins

_REVISION = re.compile(r"(?<!\d)(\d{4})[_-]?(\d\d)[_-]?(\d\d)(?!\d)")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]")
# Other classes have aliases with the wire names; these have only Python names.
_UNALIASED = frozenset({"dataclass", "typeddict"})
_LATEST = "latest"


def revision_in(module: str) -> str | None:
    """Return the revision in a module's name: `mcp_types._v2025_11_25` names 2025-11-25."""
    found = _REVISION.search(module)
    return "-".join(found.groups()) if found else None


def fold(name: str) -> str:
    """Return a name without case and separators, so that `URL_ELICITATION` is `UrlElicitation`."""
    return _SEPARATORS.sub("", name).lower()


def on_the_wire(type_: SdkType, wire_names: Mapping[str, str]) -> SdkType:
    """Return a type with wire names in place of Python names: `mimeType` for `mime_type`.

    `wire_names` has the wire name for each folded one.
    """
    if type_.flavour not in _UNALIASED:
        return type_
    known = set(wire_names.values())
    members = tuple(
        (
            member
            if member.wire in known
            else replace(member, wire=wire_names.get(fold(member.wire), member.wire))
        )
        for member in type_.members
    )
    return replace(type_, members=members)


def find_revisions(sdk: Description) -> frozenset[str]:
    """Return the pinned revisions that constants or module names of the SDK contain."""
    named = {text for constant in sdk.constants for text in _texts(constant.value)}
    named |= {revision_in(module) or "" for module in sdk.modules}
    return frozenset(named & set(load_pins()))


def claimed_revision(sdk: Description) -> str:
    """Return the revision to audit if none is named.

    It is the only one that module names contain; or the one that a constant calls the latest; or
    the newest that the SDK names; or the newest that is pinned.
    """
    pins = set(load_pins())
    in_modules = {revision_in(module) for module in sdk.modules} & pins
    if len(in_modules) == 1:
        return cast(str, in_modules.pop())
    latest = {
        text
        for constant in sdk.constants
        if _LATEST in fold(constant.name)
        for text in _texts(constant.value)
    }
    return max(latest & pins or find_revisions(sdk) or pins)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_array(value):
        yield from (item for item in value if isinstance(item, str))

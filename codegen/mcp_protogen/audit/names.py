"""Reading names: which revision a module names, and which names are the same in other letters."""

import re
from collections.abc import Mapping
from dataclasses import replace

from mcp_protogen.audit.description import TargetType

_REVISION = re.compile(r"(?<!\d)(\d{4})[_-]?(\d\d)[_-]?(\d\d)(?!\d)")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]")
# A class that is called after its wire names has aliases of its own; these have Python's names.
_UNALIASED = frozenset({"dataclass", "typeddict"})


def revision_in(module: str) -> str | None:
    """The revision that a module's name holds: `mcp_types._v2025_11_25` names 2025-11-25."""
    found = _REVISION.search(module)
    return "-".join(found.groups()) if found else None


def folded(name: str) -> str:
    """A name without case and separators: `URL_ELICITATION` and `UrlElicitation` are one."""
    return _SEPARATORS.sub("", name).lower()


def on_the_wire(type_: TargetType, vocabulary: Mapping[str, str]) -> TargetType:
    """A type with wire names where it has Python's: `mime_type` is `mimeType`, `meta` `_meta`.

    `vocabulary` has the wire name for each folded one.
    """
    if type_.flavour not in _UNALIASED:
        return type_
    known = set(vocabulary.values())
    members = tuple(
        (
            member
            if member.wire in known
            else replace(member, wire=vocabulary.get(folded(member.wire), member.wire))
        )
        for member in type_.members
    )
    return replace(type_, members=members)

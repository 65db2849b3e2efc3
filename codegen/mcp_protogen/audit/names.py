"""Names: the revision in a module's name, and equal names in different spelling."""

import re
from collections.abc import Mapping
from dataclasses import replace

from mcp_protogen.audit.description import TargetType

_REVISION = re.compile(r"(?<!\d)(\d{4})[_-]?(\d\d)[_-]?(\d\d)(?!\d)")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]")
# Other classes have aliases with the wire names; these have only Python names.
_UNALIASED = frozenset({"dataclass", "typeddict"})


def revision_in(module: str) -> str | None:
    """Return the revision in a module's name: `mcp_types._v2025_11_25` names 2025-11-25."""
    found = _REVISION.search(module)
    return "-".join(found.groups()) if found else None


def folded(name: str) -> str:
    """Return a name without case and separators, so that `URL_ELICITATION` is `UrlElicitation`."""
    return _SEPARATORS.sub("", name).lower()


def on_the_wire(type_: TargetType, vocabulary: Mapping[str, str]) -> TargetType:
    """Return a type with wire names in place of Python names: `mimeType` for `mime_type`.

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

"""Values as parts of URIs (RFC 6570, section 3.2.1)."""

import re
from typing import Final
from urllib.parse import quote

_TRIPLET: Final = re.compile(r"(%[0-9A-Fa-f]{2})")
_RESERVED: Final = ":/?#[]@!$&'()*+,;="


def encoded(value: str, *, reserved: bool) -> str:
    """Return a value as part of a URI, where reserved characters may stay as they are."""
    if not reserved:
        return quote(value, safe="")
    # Text that is already encoded stays unchanged (RFC 6570, section 3.2.3).
    parts = _TRIPLET.split(value)
    return "".join(part if _TRIPLET.fullmatch(part) else quote(part, _RESERVED) for part in parts)

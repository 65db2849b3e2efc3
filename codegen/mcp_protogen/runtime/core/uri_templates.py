"""URI templates in parts, and values in URIs (RFC 6570)."""

import re
from typing import Final
from urllib.parse import quote

_EXPRESSION: Final = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
BROKEN: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_RESERVED: Final = "%:/?#[]@!$&'()*+,;="


def parse_uri_template(template: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the literals of a template, and between them expressions: an operator, and names."""
    parts = _EXPRESSION.split(template)
    return parts[::3], list(zip(parts[1::3], parts[2::3], strict=True))


def encode_value(value: str, *, reserved: bool) -> str:
    """Return a value as part of a URI, in which reserved characters may stay."""
    # Text that is already encoded stays unchanged (section 3.2.3).
    return quote(BROKEN.sub("%25", value), _RESERVED) if reserved else quote(value, safe="")

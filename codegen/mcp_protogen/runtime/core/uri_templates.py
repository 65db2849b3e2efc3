"""Parts of URI templates, and encoded values (RFC 6570)."""

import re
from typing import Final
from urllib.parse import quote

_EXPRESSION: Final = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
BROKEN: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_RESERVED: Final = "%:/?#[]@!$&'()*+,;="


def parse_uri_template(template: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the literals of a template, and the expressions between: operator and names."""
    parts = _EXPRESSION.split(template)
    return parts[::3], list(zip(parts[1::3], parts[2::3], strict=True))


def encode_value(value: str, *, reserved: bool) -> str:
    """Encode a value for a URI; with `reserved`, reserved characters stay."""
    # Text that is already encoded stays unchanged (section 3.2.3).
    return quote(BROKEN.sub("%25", value), _RESERVED) if reserved else quote(value, safe="")

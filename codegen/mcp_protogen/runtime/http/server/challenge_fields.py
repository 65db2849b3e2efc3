"""The fields `WWW-Authenticate`, which tell clients what token a request needs.

RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9449, section 7.1; RFC 9728, section 5.1.
"""

import re
from collections.abc import Mapping
from typing import Final

from .asgi import Field

BEARER: Final = "Bearer"
DPOP: Final = "DPoP"

_QUOTABLE: Final = re.compile(r"[ !#-\[\]-~]*")
_UNQUOTABLE: Final = re.compile(r"[^ !#-\[\]-~]")


def is_quotable(text: str) -> bool:
    """Return whether a text can be in a quoted string unescaped."""
    return _QUOTABLE.fullmatch(text) is not None


def mask_unquotable(text: str) -> str:
    """Return a text with a question mark for each character that a description cannot have.

    RFC 6750, section 3: a verifier's text may repeat parts of a token.
    """
    return _UNQUOTABLE.sub("?", text)


def challenge(scheme: str, params: Mapping[str, str]) -> Field:
    """Return a field with one challenge; raise `ValueError` for unquotable values."""
    for name, value in params.items():
        if not is_quotable(value):
            raise ValueError(f"{name}: {value!r:.100} is not allowed in a header field")
    listed = ", ".join(f'{name}="{value}"' for name, value in params.items())
    return b"www-authenticate", f"{scheme} {listed}".strip().encode()

"""Challenges: the fields `WWW-Authenticate` that tell a client which token a request needs.

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
    """Return whether a text can stand in a quoted string as it is, and end no field."""
    return _QUOTABLE.fullmatch(text) is not None


def mask_unquotable(text: str) -> str:
    """Return a text with a question mark for each character that no description may have.

    RFC 6750, section 3: what a verifier says of a token may repeat parts of it.
    """
    return _UNQUOTABLE.sub("?", text)


def challenge(scheme: str, params: Mapping[str, str]) -> Field:
    """Return a field with one challenge; raise `ValueError` for what would break it."""
    for name, value in params.items():
        if not is_quotable(value):
            raise ValueError(f"{name}: {value!r:.100} cannot stand in a header field")
    listed = ", ".join(f'{name}="{value}"' for name, value in params.items())
    return b"www-authenticate", f"{scheme} {listed}".strip().encode()

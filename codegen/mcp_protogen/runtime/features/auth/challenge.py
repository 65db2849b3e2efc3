"""The header field `WWW-Authenticate` (RFC 9110, 11.6.1), read leniently: many write it by hand."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

_LONGEST: Final = 16 * 1024
"""In characters, of one field."""
_MOST: Final = 64
"""The most fields, elements of one field, and challenges in all."""

_OF_TOKENS: Final = frozenset({"bearer", "dpop"})
"""The schemes of access tokens (RFC 6750, section 3; RFC 9449, section 7.1)."""

_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_ELEMENT: Final = re.compile(
    # Unquoted values should be tokens, but URLs and scopes occur. An unclosed quote takes the rest.
    rf"""
    (?P<gap> [\s,]*+ )
    (?: (?P<name> {_TOKEN} ) \s*=\s*
        (?: " (?P<quoted> (?: [^"\\] | \\. )*+ ) " | (?P<bare> [^\s",]+ ) )
      | (?P<scheme> {_TOKEN} ) (?: \s+ [0-9A-Za-z._~+/-]+=* \s* (?= ,|\Z ) )?
        (?= [\s,]|\Z )
      | (?: [^",] | " (?: [^"\\] | \\.? )*+ (?: "|\Z ) )+
      | \Z
    )""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Challenge:
    """One way to authenticate, with its parameters.

    `scheme` and the names in `params` are in lower case. The first value of a repeated parameter
    counts. A token in place of parameters, as some schemes have it, is left out.
    """

    scheme: str
    params: Mapping[str, str] = field(default_factory=dict[str, str])


def challenges_in(values: Iterable[str]) -> tuple[Challenge, ...]:
    found = (challenge for value in islice(values, _MOST) for challenge in _challenges_of(value))
    return tuple(islice(found, _MOST))


def token_param(values: Iterable[str], name: str) -> str | None:
    for challenge in challenges_in(values):
        if challenge.scheme in _OF_TOKENS and name in challenge.params:
            return challenge.params[name]
    return None


def _challenges_of(value: str) -> Iterator[Challenge]:
    """Yield the challenges in one value; skip parameters before the first scheme.

    A comma may be missing before a parameter, but not before a scheme: two words in a row are more
    often a value without its quotes.
    """
    scheme, params = "", dict[str, str]()
    for match in islice(_ELEMENT.finditer(value[:_LONGEST]), _MOST):
        if match["name"]:
            text = match["bare"] or _ESCAPED.sub(r"\1", match["quoted"])
            params.setdefault(match["name"].lower(), text)
        elif match["scheme"] and ("," in match["gap"] or not scheme):
            if scheme:
                yield Challenge(scheme, params)
            scheme, params = match["scheme"].lower(), {}
    if scheme:
        yield Challenge(scheme, params)

"""Expansion of the URI templates that servers list (RFC 6570, all levels)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from .uri_templates import encode_value, parse_uri_template

_LENGTH: Final = re.compile(r"[1-9][0-9]{0,3}")


class _Operator(NamedTuple):
    first: str
    between: str
    named: bool = False
    reserved: bool = False


_OPERATORS: Final[Mapping[str, _Operator]] = {
    "": _Operator("", ","),
    "+": _Operator("", ",", reserved=True),
    "#": _Operator("#", ",", reserved=True),
    ".": _Operator(".", "."),
    "/": _Operator("/", "/"),
    ";": _Operator(";", ";", named=True),
    "?": _Operator("?", "&", named=True),
    "&": _Operator("&", "&", named=True),
}


class UriVariable(NamedTuple):
    """A variable of a template.

    A query variable is optional. An exploded one (`{x*}`) may have several values; one with a
    length (`{x:3}`) is cut to that many characters.
    """

    name: str
    required: bool
    exploded: bool
    length: int | None


def expanded_uri(template: str, values: Mapping[str, str | Sequence[str]]) -> str:
    """Return the URI for a template; raise `KeyError` for a missing required value."""
    (uri, *literals), expressions = parse_uri_template(template)
    for (sign, names), literal in zip(expressions, literals, strict=True):
        operator = _OPERATORS[sign]
        parts: list[str] = []
        for variable in variables_of(sign, names):
            if variable.required or variable.name in values:
                parts += _parts(operator, variable, values[variable.name])
        uri += operator.first + operator.between.join(parts) + literal if parts else literal
    return uri


def variables_of(sign: str, names: str) -> Iterator[UriVariable]:
    for text in filter(None, names.split(",")):
        name, _, length = text.rstrip("*").partition(":")
        most = int(length) if _LENGTH.fullmatch(length) else None
        yield UriVariable(name, _OPERATORS[sign].between != "&", text.endswith("*"), most)


def _parts(operator: _Operator, one: UriVariable, value: str | Sequence[str]) -> Iterator[str]:
    listed = [value] if isinstance(value, str) else value
    texts = [encode_value(text[: one.length], reserved=operator.reserved) for text in listed]
    for text in texts if one.exploded or not texts else [",".join(texts)]:
        # RFC 6570, section 3.2.7: a path-style parameter without a value has no sign.
        sign = "=" if text or operator.first != ";" else ""
        yield f"{one.name}{sign}{text}" if operator.named else text

"""URI templates of the levels 1 and 2 of RFC 6570, with expansion and matching.

`{x}` matches one segment, `{+x}` text that may have slashes, `{#x}` a fragment. A matched value is
decoded once, and is safe as part of a path: it has no `.` or `..` segment and no control
characters, and a segment no slash, encoded or not (2026-07-28, server/resources, "Security
Considerations"). Matching takes linear time.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from ..core.uri_templates import BROKEN, encode_value, parse_uri_template

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Invalid in a URI, encoded or not: RFC 6570, section 2.1, and RFC 3986, appendix A.
_NEVER: Final = re.compile(r"[\x00-\x20\x7f\"<>\\^`{|}]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")

_LEVEL_3: Final = {
    ".": "labels",
    "/": "path segments",
    ";": "path parameters",
    "?": "a query",
    "&": "a continued query",
}


class Variable(NamedTuple):
    """One variable, and the literal text up to the next one."""

    name: str
    reserved: bool
    after: str


@dataclass(frozen=True, slots=True)
class UriTemplate:

    text: str
    before: str
    variables: tuple[Variable, ...]

    @classmethod
    def parse(cls, text: str) -> "UriTemplate":
        """Parse a template; raise `ValueError` with the reason."""
        literals, expressions = parse_uri_template(text)
        for number, (operator, name) in enumerate(expressions):
            _check_name(text, operator, name)
            literals[number] += "#" * (operator == "#")
        _check(text, literals, [name for _, name in expressions])
        found = zip(expressions, literals[1:], strict=True)
        variables = [Variable(name, sign != "", after) for (sign, name), after in found]
        return cls(text, literals[0], tuple(variables))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.variables)

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the decoded values of the variables in `uri`, or None if it does not match."""
        if not uri.startswith(self.before) or _NEVER.search(uri):
            return None
        values, at = dict[str, str](), len(self.before)
        for variable in self.variables:
            end = self._end(variable, uri, at)
            value = _decode_value(uri[at:end], variable.reserved) if end > at else None
            if value is None:
                return None
            values[variable.name] = value
            at = end + len(variable.after)
        return values if at == len(uri) else None

    def _end(self, variable: Variable, uri: str, at: int) -> int:
        if variable is self.variables[-1]:
            return len(uri) - len(variable.after) if uri.endswith(variable.after) else -1
        return uri.find(variable.after, at + 1)

    def expand(self, values: Mapping[str, object]) -> str:
        """Return the URI with these values; raise `ValueError` for a missing or empty one."""
        parts = [self.before]
        for variable in self.variables:
            value = str(values.get(variable.name, ""))
            if not value:
                raise ValueError(f"{self.text} needs a value for {variable.name}")
            parts += (encode_value(value, reserved=variable.reserved), variable.after)
        return "".join(parts)


def _check_name(text: str, operator: str, name: str) -> None:
    if operator not in _LEVEL_3 and _VARIABLE.fullmatch(name):
        return
    higher = _LEVEL_3.get(operator, "several variables" * ("," in name))
    if higher:
        higher += ", of level 3"
    elif name[:1] in {*"=!@|"}:
        higher = "an operator that is reserved"
    elif re.search(r"\*$|:[0-9]+$", name):
        higher = "a modifier, of level 4"
    reason = "is not the name of a parameter"
    if higher:
        reason = f"needs {higher} of RFC 6570; supported are {{x}}, {{+x}} and {{#x}}"
    raise ValueError(f"the URI template {text!r}: {{{operator}{name}}} {reason}")


def _check(text: str, literals: list[str], names: list[str]) -> None:
    joined = "".join(literals)
    wrong = _NEVER.search(joined) or BROKEN.search(joined)
    if wrong is not None or not joined.isascii():
        what = "non-ASCII text" if wrong is None else repr(wrong[0])
        raise ValueError(f"the URI template {text!r} contains {what}, which must be encoded")
    if not _SCHEME.match(literals[0]):
        raise ValueError(f"the URI {text!r} does not begin with a scheme, such as weather:")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the URI template {text!r} contains {name} twice")
    if "" in literals[1:-1]:
        raise ValueError(f"the URI template {text!r} needs text between its variables")


def _decode_value(raw: str, reserved: bool) -> str | None:
    if BROKEN.search(raw) or (not reserved and not _SEGMENT_ENDS.isdisjoint(raw)):
        return None
    try:
        value = unquote_to_bytes(raw).decode("utf-8")
    except UnicodeError:
        return None
    steps = re.split(r"[/\\]", value)
    if _CONTROL.search(value) or not _DOTS.isdisjoint(steps):
        return None
    return value if reserved or len(steps) == 1 else None


_SEGMENT_ENDS: Final = frozenset("/?#")
_DOTS: Final = frozenset({".", ".."})

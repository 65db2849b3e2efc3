"""Patterns of JSON Schemas, matched in linear time.

A short pattern can keep Python's `re` busy for years (CWE-1333), and a schema may come from an
untrusted server. The regex crate of Pydantic takes linear time; `re` matches only our own patterns.
Where ECMA 262 (JSON Schema 2020-12, core, section 6.4) and the crate differ, a pattern is
rewritten, or reported as not checked.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from pydantic_core import SchemaError, SchemaValidator
from pydantic_core import core_schema as cs

from .json import is_object
from .libraries import library

Search: TypeAlias = Callable[[str], bool]
Report: TypeAlias = Callable[[str], None]

_LONGEST: Final = 1_000
_CHARACTERS: Final = 50_000
"""The most characters of one value that are matched with foreign patterns."""
_LARGEST: Final = 2_000
"""The most states of a pattern: each may cost a step for each character."""
_STATES_OF_PROPERTY: Final = 20
"""The states counted for `\\p{…}`, whose character sets are large."""
# These differ in the crate: sets in classes, empty classes, flags.
_OTHERWISE: Final = re.compile(r"\[[^\]]*(?:&&|--|~~|\[)|\[\^?\]|\(\?[A-Za-z-]+[:)]")
_ESCAPE: Final = re.compile(r"\\.", re.DOTALL)
_TOKEN: Final = re.compile(
    r"\\[pP]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?:)?"
    r"|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}|.",
    re.DOTALL,
)
_SPACES: Final = r"\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
# ECMA 262, section 22.2.2.9: except for white space, classes are ASCII only.
_CLASSES: Final[Mapping[str, str]] = {
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": "[0-9A-Za-z_]",
    r"\W": "[^0-9A-Za-z_]",
    r"\s": f"[{_SPACES}]",
    r"\S": f"[^{_SPACES}]",
    r"\<": "<",
    r"\>": ">",
}
_OUTSIDE: Final[Mapping[str, str]] = {
    **_CLASSES,
    ".": r"[^\n\r\u2028\u2029]",
    r"\b": r"(?-u:\b)",
    r"\B": r"(?-u:\B)",
}
"""Also tokens that mean something else inside a class."""


class NotChecked(Exception):
    """A pattern cannot be checked, and skipping it could reject a valid value."""


class Patterns:
    """The patterns of one schema.

    `report` is called with what is not checked. A schema without it is our own: Python's `re` then
    matches patterns that the crate cannot read.
    """

    def __init__(self, report: Report | None) -> None:
        self._report = report
        self._reported: set[str] = set()
        self._left = _CHARACTERS
        self.can_skip = True
        """Whether skipping a pattern only accepts more values: the schema has no `not` or such."""

    @property
    def are_own(self) -> bool:
        return self._report is None

    def renew(self) -> None:
        """Reset the budget for the next value."""
        self._left = _CHARACTERS

    def is_readable(self, pattern: object) -> bool:
        """Return whether a value of `pattern` is valid, or cannot be checked."""
        if not isinstance(pattern, str):
            return True
        if self.are_own:
            return (_linear(pattern) or _python(pattern)) is not None
        if _linear(pattern) is None:
            why = "is not checked: it cannot be matched in linear time with the meaning of ECMA 262"
            self.skip(f"the pattern {pattern[:80]!r} {why}")
        return True

    def skip(self, why: str) -> None:
        if self._report is not None and why not in self._reported:
            self._reported.add(why)
            self._report(why)

    def search(self, pattern: str, text: str) -> bool | None:
        """Return whether a pattern matches somewhere; None if it is not checked.

        Raise `NotChecked` if skipping it could reject a valid value.
        """
        search = _linear(pattern)
        if self.are_own:
            search = search or _python(pattern)
        else:
            self._left -= len(text)
            if self._left < 0:
                self.skip(f"patterns are not checked beyond {_CHARACTERS:,} characters")
                search = None
        if search is not None:
            return search(text)
        if not self.can_skip:
            raise NotChecked
        return None


@lru_cache(maxsize=200)
def _linear(pattern: str) -> Search | None:
    if len(pattern) > _LONGEST or _OTHERWISE.search(_ESCAPE.sub("x", pattern)):
        return None
    tokens = [*_TOKEN.finditer(pattern)]
    if _states(tokens) > _LARGEST:
        return None
    text = "".join(map(_of_crate, tokens))
    try:
        return SchemaValidator(cs.str_schema(pattern=text)).isinstance_python
    except SchemaError:
        return None


def _of_crate(token: re.Match[str]) -> str:
    text = token[0]
    if text.startswith("["):
        return _ESCAPE.sub(lambda one: _CLASSES.get(one[0], one[0]), text)
    return _OUTSIDE.get(text, text)


def _states(tokens: Iterable[re.Match[str]]) -> int:
    open_groups, last = [1], 0
    for token in tokens:
        text = token[0]
        if text.startswith("("):
            open_groups.append(1)
        elif text == ")" and len(open_groups) > 1:
            last = open_groups.pop()
            open_groups[-1] += last
        elif token["least"]:
            times = max(int(token["most"] or token["least"]), 1)
            open_groups[-1] += last * (times - 1)
            last *= times
        elif text not in "*+?":
            last = 1 + _STATES_OF_PROPERTY * text.lower().count(r"\p")
            open_groups[-1] += last
    return sum(open_groups)


@lru_cache(maxsize=200)
def _python(pattern: str) -> Search | None:
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None
    return lambda text: compiled.search(text) is not None


def keywords(usual: Mapping[str, Any], patterns: Patterns, used: Collection[str]) -> dict[str, Any]:
    """Return safe replacements of jsonschema's `usual` keywords, for a schema that has `used`."""

    def pattern(validator: Any, value: str, instance: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(instance, "string") and patterns.search(value, instance) is False:
            message = f"{instance!r} does not match {value!r}"
            yield library("jsonschema", "a pattern").ValidationError(message)

    def of_members(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        for expression, inner in value.items() if is_object(instance) else ():
            meant = {name: v for name, v in instance.items() if patterns.search(expression, name)}
            # The empty pattern matches every name.
            yield from usual["patternProperties"](validator, {"": inner}, meant, schema)

    def additional(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        names = schema.get("patternProperties", ()) if is_object(instance) else ()
        meant = [
            name
            for name in (instance if names else ())
            if any(patterns.search(expression, name) is not False for expression in names)
        ]
        known = {"properties": {**schema.get("properties", {}), **dict.fromkeys(meant)}}
        yield from usual["additionalProperties"](validator, value, instance, known)

    def skip_unevaluated(*_: Any) -> Iterator[Any]:
        patterns.skip("unevaluatedProperties is not checked beside patternProperties")
        yield from ()

    changed: dict[str, Any] = {
        "pattern": pattern,
        "patternProperties": of_members,
        "additionalProperties": additional,
    }
    # jsonschema's own search for evaluated members cannot be replaced.
    beside = {"patternProperties", "unevaluatedProperties"} <= {*used}
    if beside and not patterns.are_own:
        changed["unevaluatedProperties"] = skip_unevaluated
    return changed

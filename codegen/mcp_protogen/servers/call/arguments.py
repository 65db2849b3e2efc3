"""Arguments of a tool, read from words and checked by the tool's input schema.

name=value    text, or the type that the schema has: number, boolean, array, object
name:=JSON    JSON, whatever the schema says
name=@file    the content of a file, read in the same way
{…}           all arguments as one JSON object
-             the same from standard input
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, islice, product
from math import isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp_protogen.base.jsonpointer import escape, split
from mcp_protogen.base.jsonvalue import is_array, is_object, json_type
from mcp_protogen.base.problems import Level, Problem, ProblemError, did_you_mean
from mcp_protogen.runtime.core.json import read_json
from mcp_protogen.runtime.core.schema_validation import checker
from mcp_protogen.servers.call.input_schemas import ANY, NULL, Part, Schema, read_schema

STDIN: Final = "-"
_CODE: Final = "wrong-argument"
_SCHEMA: Final = "the input schema"
_QUOTES: Final = 'quote JSON for the shell, as in \'name=["a", "b"]\', or repeat name=item'
_NOTATIONS: Final = "write name=value, name:=JSON or name=@file, one JSON object, or - for stdin"
_MOST_READINGS: Final = 64
"""Ways to read words as texts or as values that are tried."""


class Word(NamedTuple):
    """An argument as it was written: `kind` is `=`, `:=` or `=@`."""

    name: str
    kind: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ArgumentReader:
    """The reader of words as arguments of `tool`; `stdin` is the input for the word `-`."""

    tool: str
    schema: Schema
    stdin: str = ""

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the arguments; raise `ProblemError` (`wrong-argument`) for the first bad word."""
        if len(words) == 1 and (words[0] == STDIN or words[0].lstrip().startswith("{")):
            return self._object(self.stdin if words[0] == STDIN else words[0])
        given: dict[str, list[Word]] = {}
        for word in map(self._word, words):
            given.setdefault(word.name, []).append(word)
        return self._fitting(
            {name: self._argument(name, written) for name, written in given.items()}, given
        )

    @cached_property
    def _root(self) -> Part:
        return read_schema(self.schema)

    def check(self, arguments: Mapping[str, Any]) -> list[Problem]:
        """Return the faults of arguments, and a warning for an unusable schema."""
        wrong = [*self._unknown_arguments(arguments), *self._missing_arguments(arguments)]
        if wrong:
            return wrong
        unchecked: list[str] = []
        try:
            check = checker(self.schema, _SCHEMA, of_objects=False, report=unchecked.append)
            for pointer, message in check(dict(arguments)):
                wrong += [self._problem(pointer, message)] if message not in unchecked else []
        except ValueError as error:
            unchecked.append(str(error))
        place = f"{self.tool}/inputSchema"
        return [
            *(Problem("unusable-schema", why, place, level=Level.WARNING) for why in unchecked),
            *wrong,
        ]

    def _object(self, text: str) -> dict[str, Any]:
        value = self._json("", text)
        if not is_object(value):
            raise self._bad("", "the arguments are not a JSON object", _NOTATIONS)
        return value

    def _word(self, written: str) -> Word:
        try:
            written.encode()
        except UnicodeEncodeError:
            raise self._bad("", f"{written!r:.60} is not text in UTF-8") from None
        name, separated, text = written.partition("=")
        kind = "="
        if name.endswith(":"):
            name, kind = name[:-1], ":="
        elif text.startswith("@"):
            text, kind = text[1:], "=@"
        if not separated or not name:
            names = ", ".join(self._root.members)
            hint = f"arguments of {self.tool}: {names}" if names else _NOTATIONS
            raise self._bad("", f"{written!r:.60} is not an argument: {_NOTATIONS}", hint)
        return Word(name, kind, text)

    def _fitting(
        self, arguments: dict[str, Any], given: Mapping[str, Sequence[Word]]
    ) -> dict[str, Any]:
        """Return arguments that fit an alternative of the schema, if reading words as texts helps.

        A word like a number may be text in the alternative that the other arguments choose.
        """
        texts = {
            name: word.text
            for name, (word, *more) in given.items()
            if not more and word.kind == "=" and self._may_be_text(name, arguments)
        }
        if not self._root.has_alternatives or not texts or not self._wrong(arguments):
            return arguments
        choices = islice(product((False, True), repeat=len(texts)), 1, _MOST_READINGS)
        for chosen in choices:
            reading = {**arguments, **dict(compress(texts.items(), chosen))}
            if not self._wrong(reading):
                return reading
        return arguments

    def _may_be_text(self, name: str, arguments: Mapping[str, Any]) -> bool:
        return not isinstance(arguments[name], str) and "string" in self._root.member(name).types

    def _wrong(self, arguments: Mapping[str, Any]) -> bool:
        return any(problem.level is Level.ERROR for problem in self.check(arguments))

    def _argument(self, name: str, words: Sequence[Word]) -> Any:
        """Return the value of an argument; items of an array may be given one by one."""
        part = self._root.member(name)
        if len(words) == 1:
            return self._value(words[0], part)
        if part.types & {"array", ANY}:
            return [self._value(word, part.items(index)) for index, word in enumerate(words)]
        hint = "only an array may be given item by item"
        raise self._bad(name, f"{name} is given {len(words)} times", hint)

    def _value(self, word: Word, part: Part) -> Any:
        if word.kind == ":=":
            return self._json(word.name, word.text)
        if word.kind == "=":
            return self._convert(word.name, word.text, part)
        try:
            content = Path(word.text).read_bytes()
            if "base64" in part.find("contentEncoding"):
                return base64.b64encode(content).decode()
            return self._convert(word.name, content.decode(), part)
        except OSError as error:
            reason = error.strerror or str(error)
        except UnicodeDecodeError:
            reason = "it is not text in UTF-8"
        raise self._bad(word.name, f"{word.name}: {word.text} cannot be read: {reason}")

    def _convert(self, name: str, text: str, part: Part) -> Any:
        """Return the value of a text: JSON if the schema allows its type, else the text."""
        try:
            value = read_value(text)
        except ValueError:
            value = text
        types, is_choice = part.types, text in part.choices and value not in part.choices
        if not isinstance(value, str) and json_type(value) in types and not is_choice:
            return value
        if types & {"string", ANY}:
            return text
        if "integer" in types and isinstance(value, float) and value.is_integer():
            return int(value)
        if "array" in types and not text.lstrip().startswith("["):
            # It can only be an item.
            return [self._convert(name, text, part.items(0))]
        hint = _QUOTES if "array" in types else ""
        raise self._bad(name, f"{name}: {text!r:.60} is not {_in_words(types)}", hint)

    def _json(self, name: str, text: str) -> Any:
        try:
            return read_value(text)
        except ValueError as error:
            which = f"{name}: " if name else ""
            raise self._bad(name, f"{which}{text!r:.60} is not JSON: {error}") from None

    def _unknown_arguments(self, arguments: Mapping[str, Any]) -> Iterator[Problem]:
        known = self._root.members
        for name in arguments if self._root.is_closed else ():
            if name not in known:
                hint = did_you_mean(name, known, f"arguments: {', '.join(known) or 'none'}")
                yield self._at("/properties", f"the tool has no argument {name}", hint)

    def _missing_arguments(self, arguments: Mapping[str, Any]) -> Iterator[Problem]:
        for name in self._root.required:
            if name not in arguments:
                hint = f"add {name}=… ({self._root.members[name].words()})"
                yield self._at("/required", f"the argument {name} is missing", hint)

    def _problem(self, pointer: str, message: str) -> Problem:
        name, *inside = split(pointer) or [""]
        place = f"{'/'.join([name, *inside])}: " if pointer else ""
        return self._bad(name, f"{place}{message}").problems[0]

    def _bad(self, name: str, message: str, hint: str = "") -> ProblemError:
        pointer = f"/properties/{escape(name)}" if name in self._root.members else ""
        return ProblemError(self._at(pointer, message, hint))

    def _at(self, pointer: str, message: str, hint: str = "") -> Problem:
        return Problem(_CODE, message, f"{self.tool}/inputSchema", pointer, hint)


def read_value(text: str) -> Any:
    """Return the value of a JSON text; raise `ValueError`, also for too large numbers."""
    value = read_json(text.encode())
    if not _is_finite(value):
        raise ValueError("a number is too large")
    return value


def _is_finite(value: Any) -> bool:
    if is_object(value):
        return all(map(_is_finite, value.values()))
    if is_array(value):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or isfinite(value)


def _in_words(types: frozenset[str]) -> str:
    shown = types - {"integer"} if "number" in types else types
    return " or ".join(words for name, words in _IN_WORDS.items() if name in shown)


_IN_WORDS: Final[Mapping[str, str]] = {
    "boolean": "a boolean, true or false",
    "integer": "an integer",
    "number": "a number",
    NULL: "null",
    "array": "an array as JSON",
    "object": "an object as JSON",
}

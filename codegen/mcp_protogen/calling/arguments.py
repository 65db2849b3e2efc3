"""Arguments of a tool, read from words as the tool's input schema says, and checked by it.

name=value    text, or what the schema says: number, boolean, array, object
name:=JSON    JSON, whatever the schema says
name=@file    the content of a file, read in the same way
{…}           all arguments as one JSON object
-             the same from standard input
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp_protogen.base.jsonpointer import escape, split
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.base.suggest import did_you_mean
from mcp_protogen.calling import input_schemas
from mcp_protogen.calling.input_schemas import NULL, Schema
from mcp_protogen.runtime.core.schema_validation import checker

STDIN: Final = "-"
_CODE: Final = "wrong-argument"
_SCHEMA: Final = "the input schema"
_FORMS: Final = "write name=value, name:=JSON or name=@file, one JSON object, or - for stdin"
_ORDER: Final = ("boolean", "integer", "number", NULL, "array", "object")
"""The types that a word may have beside text, which it has if it is none of them."""


class Word(NamedTuple):
    """An argument as it was written: `kind` is `=`, `:=` or `=@`."""

    name: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentReader:
    """What reads words as arguments of `tool`; `stdin` is what was read where the word is `-`."""

    tool: str
    schema: Schema
    stdin: str = ""

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the arguments; raise `ProblemError` (`wrong-argument`) for the first bad word."""
        if len(words) == 1 and (words[0] == STDIN or words[0].lstrip().startswith("{")):
            return self._object(self.stdin if words[0] == STDIN else words[0])
        listed = input_schemas.members(self.schema)
        given: dict[str, list[Any]] = {}
        for word in map(self._word, words):
            part = listed.get(word.name, {})
            given.setdefault(word.name, []).append(self._value(word, part))
        return {name: self._one(name, values, listed.get(name)) for name, values in given.items()}

    def check(self, arguments: Mapping[str, Any]) -> list[Problem]:
        """Return what is wrong with arguments, and a warning for a schema that cannot be used."""
        listed = input_schemas.members(self.schema)
        wrong = [*self._unknown(arguments, listed), *self._missing(arguments)]
        if wrong:
            return wrong
        unchecked: list[str] = []
        try:
            check = checker(self.schema, _SCHEMA, of_objects=False, report=unchecked.append)
            wrong += [self._problem(one.pointer, one.message) for one in check(dict(arguments))]
        except ValueError as error:
            unchecked.append(str(error))
        place = f"{self.tool}/inputSchema"
        said = [Problem("unusable-schema", one, place, level=Level.WARNING) for one in unchecked]
        return [*said, *wrong]

    def _object(self, text: str) -> dict[str, Any]:
        value = self._json("", text)
        if not is_object(value):
            raise self._bad("", "the arguments are not a JSON object", _FORMS)
        return value

    def _word(self, written: str) -> Word:
        name, separated, text = written.partition("=")
        kind = "="
        if name.endswith(":"):
            name, kind = name[:-1], ":="
        elif text.startswith("@"):
            text, kind = text[1:], "=@"
        if not separated or not name:
            listed = input_schemas.members(self.schema)
            hint = f"arguments of {self.tool}: {', '.join(listed)}" if listed else _FORMS
            raise self._bad("", f"{written!r:.60} is not an argument: {_FORMS}", hint)
        return Word(name, kind, text)

    def _value(self, word: Word, part: Schema) -> Any:
        if word.kind == ":=":
            return self._json(word.name, word.text)
        text = word.text
        if word.kind == "=@":
            text = self._content(word, part)
        return self._typed(word.name, text, part)

    def _content(self, word: Word, part: Schema) -> str:
        try:
            content = Path(word.text).read_bytes()
            if part.get("contentEncoding") == "base64":
                return base64.b64encode(content).decode()
            return content.decode()
        except OSError as error:
            reason = error.strerror or str(error)
        except UnicodeDecodeError:
            reason = "it is not text in UTF-8"
        raise self._bad(word.name, f"{word.name}: {word.text} cannot be read: {reason}")

    def _typed(self, name: str, text: str, part: Schema) -> Any:
        types = input_schemas.types_of(part, self.schema)
        for value in input_schemas.choices(part, self.schema):
            if text == (value if isinstance(value, str) else json.dumps(value)):
                return value
        others = [one for one in _ORDER if one in types]
        if not types or (types <= {"string", NULL} and "string" in types):
            return text
        if "array" in types and not text.lstrip().startswith("["):
            items = input_schemas.items_of(part, self.schema)
            return _Item(self._typed(name, text, items))
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        kind = input_schemas.json_type(value)
        if kind != "string" and (kind in types or (kind == "integer" and "number" in types)):
            return value
        if "string" in types:
            return text
        raise self._bad(name, f"{name}: {text!r:.60} is not {_named(others)}")

    def _one(self, name: str, values: list[Any], part: Schema | None) -> Any:
        """Return the value of an argument; items of an array may be given one by one."""
        if all(isinstance(value, _Item) for value in values):
            return [value.value for value in values]
        if len(values) == 1:
            return values[0]
        hint = "only an array may be given item by item" if part is not None else ""
        raise self._bad(name, f"{name}: it is given {len(values)} times", hint)

    def _json(self, name: str, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            which = f"{name}: " if name else ""
            raise self._bad(name, f"{which}{text!r:.60} is not JSON: {error}") from None

    def _unknown(
        self, arguments: Mapping[str, Any], listed: Mapping[str, Schema]
    ) -> Iterator[Problem]:
        if input_schemas.is_closed(self.schema):
            for name in arguments:
                if name not in listed:
                    known = did_you_mean(name, listed, f"arguments: {', '.join(listed) or 'none'}")
                    yield self._at("/properties", f"{name}: there is no such argument", known)

    def _missing(self, arguments: Mapping[str, Any]) -> Iterator[Problem]:
        for name in input_schemas.required(self.schema):
            if name not in arguments:
                part = input_schemas.members(self.schema).get(name, {})
                words = input_schemas.type_words(part, self.schema)
                yield self._at("/required", f"{name}: it is missing", f"add {name}=… ({words})")

    def _problem(self, pointer: str, message: str) -> Problem:
        name, *inside = split(pointer) or [""]
        place = f"{'/'.join([name, *inside])}: " if pointer else ""
        return self._bad(name, f"{place}{message}").problems[0]

    def _bad(self, name: str, message: str, hint: str = "") -> ProblemError:
        listed = input_schemas.members(self.schema)
        pointer = f"/properties/{escape(name)}" if name in listed else ""
        return ProblemError(self._at(pointer, message, hint))

    def _at(self, pointer: str, message: str, hint: str = "") -> Problem:
        return Problem(_CODE, message, f"{self.tool}/inputSchema", pointer, hint)


class _Item(NamedTuple):
    """One item of an array that is given item by item."""

    value: Any


def _named(types: Sequence[str]) -> str:
    return " or ".join(map(_IN_WORDS.__getitem__, types))


_IN_WORDS: Final[Mapping[str, str]] = {
    "boolean": "a boolean, true or false",
    "integer": "an integer",
    "number": "a number",
    NULL: "null",
    "array": "an array as JSON",
    "object": "an object as JSON",
}

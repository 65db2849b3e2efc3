"""Forms that servers ask users to fill in: the text about a field, and the value of an answer.

A form is a flat object of texts, numbers, booleans and choices (2025-11-25, client/elicitation,
"Requested Schema").
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from math import isfinite
from typing import Any, Final, TypeAlias

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.runtime.core.forms import problems_of
from mcp_protogen.runtime.core.schema_validation import checker
from mcp_protogen.servers.call.input_schemas import NULL, strings

Schema: TypeAlias = Mapping[str, Any]

_YES: Final = frozenset({"y", "yes", "true", "1"})
_NO: Final = frozenset({"n", "no", "false", "0"})
_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_TYPES: Final[Mapping[str, str]] = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "array": "numbers or values, separated by commas",
}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The answer for a field that stays empty."""


LEFT_OUT: Final = LeftOut()


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of an enumeration, with its title."""

    value: Any
    title: str

    @property
    def text(self) -> str:
        """The value as the user types it."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form."""

    name: str
    schema: Schema
    required: bool

    @property
    def choices(self) -> list[Choice]:
        """The possible values; empty if it is not an enumeration."""
        return list(_choices(self._choice_schema))

    @property
    def _choice_schema(self) -> Schema:
        items = self.schema.get("items")
        return items if self.takes_several and is_object(items) else self.schema

    @property
    def type(self) -> str:
        """The type of its values, the first one besides null; empty without a type."""
        named = self.schema.get("type")
        names = [named] if isinstance(named, str) else strings(named)
        return next((name for name in names if name != NULL), "")

    @property
    def takes_several(self) -> bool:
        """Return whether several choices are allowed."""
        return self.type == "array"

    @property
    def default(self) -> Any:
        """The default of the server; `LEFT_OUT` without a default."""
        return self.schema.get("default", LEFT_OUT)

    def describe(self) -> Iterator[str]:
        """Yield lines about the purpose of the field and its possible values."""
        title = self.schema.get("title") or self.name
        kind = _TYPES.get(self.type, "text")
        if self.choices and not self.takes_several:
            kind = "number or value"
        needed = "" if self.required else ", optional"
        yield f"{title} ({', '.join([kind, *self._bounds()])}{needed})"
        if description := self.schema.get("description"):
            yield f"  {description}"
        for number, choice in enumerate(self.choices, 1):
            named = f" ({choice.text})" if choice.title != choice.text else ""
            yield f"  {number}  {choice.title}{named}"

    def prompt(self) -> str:
        """Return the prompt for the answer."""
        return (
            f"{self.name}: "
            if self.default is LEFT_OUT
            else f"{self.name} [{self._default_text()}]: "
        )

    def read(self, text: str) -> Any:
        """Return the value of an answer, `LEFT_OUT` for none; raise `ValueError` with a reason."""
        text = text.strip()
        if not text:
            if self.default is not LEFT_OUT:
                return self.default
            if self.required:
                raise ValueError("an answer is needed")
            return LEFT_OUT
        value = self._value(text)
        for fault in self._faults(value):
            raise ValueError(fault)
        if isinstance(value, str):
            _check_format(value, str(self.schema.get("format", "")))
        return value

    def _faults(self, value: Any) -> Iterator[str]:
        schema = {**self.schema, "type": self.type}
        for problem in problems_of({self.name: value}, {"properties": {self.name: schema}}, ""):
            yield problem.message
        # Forms may not have patterns and the like (2025-11-25, client/elicitation, "Requested
        # Schema"), but servers send them.
        unchecked: list[str] = []
        try:
            check = checker(self.schema, "the field", of_objects=False, report=unchecked.append)
        except ValueError:  # A broken schema: only the server can check the answer.
            return
        yield from (message for _, message in check(value) if message not in unchecked)

    def _value(self, text: str) -> Any:
        if self.takes_several:
            return [self._choice(part.strip()) for part in text.split(",") if part.strip()]
        if self.choices:
            return self._choice(text)
        if self.type == "boolean":
            return _boolean(text)
        if self.type in ("integer", "number"):
            return _number(text)
        return text

    def _choice(self, text: str) -> Any:
        listed = self.choices
        for choice in listed:
            if text in (choice.text, choice.title):
                return choice.value
        if text.isdecimal() and 1 <= int(text) <= len(listed):
            return listed[int(text) - 1].value
        for choice in listed:
            if text.lower() in (choice.text.lower(), choice.title.lower()):
                return choice.value
        raise ValueError(f"{text!r:.40} is not one of the choices")

    def _bounds(self) -> Iterator[str]:
        for lower, upper, unit in (
            ("minimum", "maximum", ""),
            ("minLength", "maxLength", " characters"),
            ("minItems", "maxItems", " choices"),
        ):
            low, high = self.schema.get(lower), self.schema.get(upper)
            if low is not None and high is not None:
                yield f"{low} to {high}{unit}"
            elif low is not None or high is not None:
                yield f"at least {low}{unit}" if high is None else f"at most {high}{unit}"
        if format := self.schema.get("format"):
            yield str(format)

    def _default_text(self) -> str:
        if isinstance(self.default, bool):
            return "yes" if self.default else "no"
        if is_array(self.default):
            return ", ".join(map(str, self.default))
        return self.default if isinstance(self.default, str) else json.dumps(self.default)


def fields(schema: Schema) -> list[Field]:
    """Return the fields of a requested schema, in its order."""
    listed, needed = schema.get("properties"), schema.get("required")
    names: list[Any] = needed if is_array(needed) else []
    if not is_object(listed):
        return []
    return [
        Field(name, member, name in names) for name, member in listed.items() if is_object(member)
    ]


def _choices(schema: Schema) -> Iterator[Choice]:
    values = schema.get("enum")
    if is_array(values):
        titles = schema.get("enumNames")
        named: list[Any] = titles if is_array(titles) and len(titles) == len(values) else values
        for value, title in zip(values, named, strict=True):
            yield Choice(value, str(title))
    for key in ("oneOf", "anyOf"):
        listed = schema.get(key)
        for arm in listed if is_array(listed) else ():
            if is_object(arm) and "const" in arm:
                yield Choice(arm["const"], str(arm.get("title", arm["const"])))


def _boolean(text: str) -> bool:
    if text.lower() not in _YES | _NO:
        raise ValueError("answer yes or no")
    return text.lower() in _YES


def _number(text: str) -> int | float:
    number = float(text) if _NUMBER.fullmatch(text) else None
    if number is None or not isfinite(number):
        raise ValueError(f"{text!r:.40} is not a number")
    if text.lstrip("+-").isdecimal():
        return int(text)
    return int(number) if number.is_integer() else number


def _email(text: str) -> object:
    return re.fullmatch(r"[^@\s]+@[^@\s]+", text)


def _uri(text: str) -> object:
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", text)


def _date(text: str) -> object:
    return re.fullmatch(r"\d{4}-\d\d-\d\d", text) and date.fromisoformat(text)


def _moment(text: str) -> object:
    return "T" in text.upper() and datetime.fromisoformat(text.upper())


_FORMATS: Final[Mapping[str, tuple[Callable[[str], object], str]]] = {
    "email": (_email, "an e-mail address, such as name@example.com"),
    "uri": (_uri, "a URI, such as https://example.com/"),
    "date": (_date, "a date, such as 2026-07-28"),
    "date-time": (_moment, "a date with a time, such as 2026-07-28T12:00:00Z"),
}


def _check_format(text: str, name: str) -> None:
    """Raise `ValueError` for a text that does not have the format of its field."""
    if name not in _FORMATS:
        return
    check, meant = _FORMATS[name]
    try:
        fits = check(text)
    except ValueError:
        fits = None
    if not fits:
        raise ValueError(f"it is not {meant}")

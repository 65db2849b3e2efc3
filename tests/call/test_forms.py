"""Forms of servers: how a field is shown, and how an answer is read."""

from typing import Any, Final

import pytest
from mcp_protogen.servers.call.forms import LEFT_OUT, Field, fields
from support.tables import case

TITLED = {"oneOf": [{"const": "r", "title": "Red"}, {"const": "2", "title": "Green"}]}
SEVERAL = {"type": "array", "items": {"anyOf": TITLED["oneOf"]}, "minItems": 1}
NAMED = {"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]}

MOMENT: Final = {"type": "string", "format": "date-time"}
ANSWERS: dict[str, tuple[dict[str, Any], str, Any]] = {
    "text": ({"type": "string"}, " ada ", "ada"),
    "whole number": ({"type": "integer"}, "7", 7),
    "number": ({"type": "number"}, "7.5", 7.5),
    "whole number with a point": ({"type": "integer"}, "7.0", 7),
    "number without digits before the point": ({"type": "number"}, "+.5", 0.5),
    "number or null": ({"type": ["null", "integer"]}, "7", 7),
    "number of an enumeration": ({"enum": ["a", 7]}, "7", 7),
    "broken schema": ({"type": "string", "required": True}, "x", "x"),
    "yes": ({"type": "boolean"}, "Y", True),
    "no": ({"type": "boolean"}, "no", False),
    "default": ({"type": "integer", "default": 3}, "", 3),
    "nothing": ({"type": "integer"}, "", LEFT_OUT),
    "a value": ({"type": "string", "enum": ["a", "b"]}, "b", "b"),
    "a value in capitals": ({"type": "string", "enum": ["a", "b"]}, "B", "b"),
    "a number of a choice": ({"type": "string", "enum": ["a", "b"]}, "2", "b"),
    "a value before a number": ({"type": "string", **TITLED}, "2", "2"),
    "a title": ({"type": "string", **TITLED}, "Red", "r"),
    "an old title": (NAMED, "Second", "b"),
    "several": (SEVERAL, "Red, 2", ["r", "2"]),
    "an address": ({"type": "string", "format": "email"}, "a@b.example", "a@b.example"),
    "a page": ({"type": "string", "format": "uri"}, "https://b.example/", "https://b.example/"),
    "a day": ({"type": "string", "format": "date"}, "2026-07-28", "2026-07-28"),
    "a moment": ({"type": "string", "format": "date-time"}, "2026-07-28T12:00:00Z", ...),
    "a moment in small letters": (MOMENT, "2026-07-28t12:00:00z", ...),
    "a choice that is empty": ({"type": "string", "enum": ["", "a"]}, "1", ""),
    "a format of the future": ({"type": "string", "format": "ipv4"}, "x", "x"),
}

REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no number": ({"type": "number"}, "x", "'x' is not a number"),
    "no digits": ({"type": "number"}, "nan", "'nan' is not a number"),
    "infinite": ({"type": "number"}, "1e400", "'1e400' is not a number"),
    "two signs": ({"type": "number"}, "--1", "'--1' is not a number"),
    "digits of another script": ({"type": "integer"}, "\u0663", "is not a number"),
    "underscore": ({"type": "integer"}, "1_0", "'1_0' is not a number"),
    "other pattern": ({"type": "string", "pattern": "^a+$"}, "b", "does not match '^a+$'"),
    "no multiple": ({"type": "integer", "multipleOf": 5}, "7", "not a multiple of 5"),
    "text for a number or null": ({"type": ["integer", "null"]}, "x", "is not a number"),
    "half": ({"type": "integer"}, "1.5", "should be an integer"),
    "too large": ({"type": "integer", "maximum": 9}, "10", "at most 9"),
    "too short": ({"type": "string", "minLength": 2}, "x", "at least 2 characters"),
    "maybe": ({"type": "boolean"}, "maybe", "answer yes or no"),
    "no choice": ({"type": "string", "enum": ["a"]}, "2", "'2' is not one of the choices"),
    "too few": (SEVERAL, ",", "at least 1 items"),
    "no address": ({"type": "string", "format": "email"}, "ada", "an e-mail address"),
    "no page": ({"type": "string", "format": "uri"}, "b.example", "a URI"),
    "no such day": ({"type": "string", "format": "date"}, "2026-02-30", "a date"),
    "no moment": ({"type": "string", "format": "date-time"}, "2026-07-28", "a date with a time"),
    "space in a moment": (MOMENT, "2026-07-28 12:00:00", "a date with a time"),
    "word with a T": (MOMENT, "Tuesday", "a date with a time"),
    "no such moment": (MOMENT, "2026-13-28T12:00:00Z", "a date with a time"),
    "week of a year": ({"type": "string", "format": "date"}, "2026-W30-2", "a date"),
    "compact day": ({"type": "string", "format": "date"}, "20260728", "a date"),
    "day after a word": ({"type": "string", "format": "date"}, "on 2026-07-28", "a date"),
    "two addresses": ({"type": "string", "format": "email"}, "a@b, c@d", "an e-mail address"),
    "address without a host": ({"type": "string", "format": "email"}, "a@", "an e-mail address"),
    "page with a space": ({"type": "string", "format": "uri"}, "https://b c", "a URI"),
    "page that begins with a digit": ({"type": "string", "format": "uri"}, "1a:b", "a URI"),
    "nothing": ({"type": "string"}, "", "an answer is needed"),
}


def test_an_answer_becomes_a_value_of_its_field() -> None:
    for name, (schema, text, value) in ANSWERS.items():
        with case(name):
            read = Field("x", schema, False).read(text)
            assert read == (text if value is ... else value)
            assert value is ... or type(read) is type(value)


def test_an_answer_that_does_not_fit_is_refused_with_a_reason() -> None:
    for name, (schema, text, reason) in REFUSED.items():
        with case(name), pytest.raises(ValueError) as caught:
            Field("x", schema, True).read(text)
        assert reason.lower() in str(caught.value).lower(), name


def test_a_field_says_what_may_be_entered() -> None:
    size = {"type": "integer", "minimum": 1, "maximum": 9, "default": 3, "title": "Size"}
    schema = {
        "properties": {
            "size": {**size, "description": "How large?"},
            "colour": {"type": "string", **TITLED},
            "mail": {"type": "string", "format": "email", "maxLength": 40},
            "sure": {"type": "boolean", "default": True},
            "tags": {**SEVERAL, "default": ["r", "2"]},
            "broken": 5,
        },
        "required": ["colour"],
    }
    shown = {field.name: ([*field.describe()], field.prompt()) for field in fields(schema)}
    assert shown == {
        "size": (["Size (whole number, 1 to 9, optional)", "  How large?"], "size [3]: "),
        "colour": (["colour (number or value)", "  1  Red (r)", "  2  Green (2)"], "colour: "),
        "mail": (["mail (text, at most 40 characters, email, optional)"], "mail: "),
        "sure": (["sure (yes or no, optional)"], "sure [yes]: "),
        "tags": (
            [
                "tags (numbers or values, separated by commas, at least 1 choices, optional)",
                "  1  Red (r)",
                "  2  Green (2)",
            ],
            "tags [r, 2]: ",
        ),
    }


def test_a_form_that_is_none_has_no_fields() -> None:
    assert fields({}) == fields({"properties": 5}) == []

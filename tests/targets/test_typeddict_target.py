"""The target `typeddict`: the meaning of its types for a validator."""

from functools import cache
from typing import Any
from unittest.mock import patch

import pytest
from mcp_protogen.pipeline.target import LAYERS, TargetOptions
from pydantic import TypeAdapter, ValidationError
from support.targets import differential
from support.targets.target_modules import module
from typing_extensions import TypedDict

pytestmark = pytest.mark.long

OPTIONS = TargetOptions("typeddict", LAYERS)
LIMITS = {"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}
Json = dict[str, Any]


def _no_limits(document: Json) -> None:
    for schema in differential.objects(document):
        # Members may have these names, too.
        for keyword in LIMITS & {key for key in schema if not isinstance(schema[key], dict)}:
            del schema[keyword]


def _drop_joint_requirements(document: Json) -> None:
    for schema in differential.objects(document):
        if "properties" in schema and isinstance(schema.get("anyOf"), list):
            del schema["anyOf"]


DIFFERENCES = (
    differential.ANY_JSON_SCHEMA,
    differential.EXACT_INTEGERS,
    differential.Difference("types of Python have no limits", _no_limits),
    differential.Difference("nor do they require one of several keys", _drop_joint_requirements),
)


@cache
def _adapter(revision: str, name: str) -> TypeAdapter[Any]:
    # Before Python 3.12, Pydantic reads only the TypedDict of typing_extensions.
    with patch("typing.TypedDict", TypedDict):
        made = module(OPTIONS, revision)
    return TypeAdapter(getattr(made, name))


def _accepts(subject: str, value: Any) -> bool:
    try:
        _adapter(*subject.split()).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


def test_types_say_what_the_schema_says_but_for_known_differences() -> None:
    differential.require_agreement(_accepts, DIFFERENCES)


def test_required_keys_are_known_when_a_program_runs() -> None:
    with patch("typing.TypedDict", TypedDict):
        made = module(OPTIONS, "2026-07-28")
    assert made.Tool.__required_keys__ == {"name", "inputSchema"}
    assert "io.modelcontextprotocol/logLevel" in made.RequestMetaObject.__optional_keys__

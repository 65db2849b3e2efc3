"""The target `pydantic`: what its models accept, and in which form they are."""

from functools import cache
from typing import Any

import pytest
from mcp_protogen.target import TargetOptions
from pydantic import TypeAdapter, ValidationError
from support.targets import differential
from support.targets.made import module

pytestmark = pytest.mark.long


@cache
def _adapter(revision: str, name: str) -> TypeAdapter[Any]:
    return TypeAdapter(getattr(module(TargetOptions("pydantic"), revision), name))


def _accepts(subject: str, value: Any) -> bool:
    try:
        _adapter(*subject.split()).validate_python(value, strict=True, by_alias=True, by_name=False)
    except ValidationError:
        return False
    return True


def test_models_accept_what_the_schema_accepts_but_for_known_differences() -> None:
    differential.require_agreement(
        _accepts,
        (
            differential.ANY_JSON_SCHEMA,
            differential.NULL_FOR_OPTIONAL,
            differential.EXACT_INTEGERS,
        ),
    )

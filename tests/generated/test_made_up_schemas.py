"""Types of all shapes accept the same values as their definitions, and write them back."""

from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from mcp_protogen.base import jsonpointer
from mcp_protogen.base.names import type_name
from mcp_protogen.pipeline.package import Package
from support import tables
from support.generated.differential import Reader, difference, reader_of
from support.generated.made_up_schemas import SCHEMAS, TRIED, schemas, values


@pytest.fixture(scope="module")
def made_up_models() -> Package:
    document = schemas.schema()
    document["$defs"] |= SCHEMAS
    return schemas.make_models(document)


@pytest.fixture(scope="module")
def package(
    made_up_models: Package, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ModuleType]:
    with schemas.import_package(
        made_up_models, tmp_path_factory.mktemp("made-up"), "made_up"
    ) as module:
        yield module


def test_made_up_schema_is_not_loosened(made_up_models: Package) -> None:
    assert [
        str(warning) for warning in made_up_models.warnings if warning.code == "loosened-schema"
    ] == []


def read_by(package: ModuleType, name: str) -> Reader:
    validator_of: Callable[[Any], Any] = import_module(
        "made_up._runtime.core.models.base"
    ).validator_of
    return reader_of(getattr(import_module("made_up.models.all"), type_name(name)), validator_of)


def test_types_accept_what_their_definitions_accept(package: ModuleType) -> None:
    definitions = {**schemas.schema()["$defs"], **SCHEMAS}
    for name, schema in TRIED.items():
        with tables.case(name):
            read = read_by(package, name)
            pointer = jsonpointer.join("$defs", name).replace("<", "%3C").replace(">", "%3E")
            oracle = schemas.validator({"$ref": f"#{pointer}", "$defs": definitions})
            accepted = 0
            for value in values(schema):
                wanted = oracle.is_valid(value)
                accepted += wanted
                assert difference(read, value, wanted, exact=False) is None
            assert accepted, "no value was valid"

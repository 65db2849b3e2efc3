"""Schemas that were hard to read: correct models, or errors with a place."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import Level, ProblemError
from support import missing, tables
from support.unit import schemas

SHOWN = "how schemas that were hard to read are read"
RIGHT = ("n_anchor", "x_array_items_false", "ring-of-40", "union-of-400")
REFUSED = {
    "hang-nested-union": {"/$defs/M0Request"},
    "n_ref_into_ref": {"/$defs/X/properties/a"},
    "two-messages-one-method": {"/$defs/M0Request", "/$defs/M1Request"},
}
VALUES: tuple[Any, ...] = (
    *({}, [], {"a": {}}, {"a": {"q": 1}}, {"a": {"q": "s"}}, {"b": []}, {"b": [1]}, {"b": {}}),
    *({"b": {"b": {"a": "s"}}}, {"b": {"b": {"a": 1}}}, {"a": 1}, {"type": "t0"}),
    *({"x": {"type": "t399"}}, {"x": {"type": "t400"}}, {"u": {"type": "t399", "v": 1}}),
)


def document(name: str) -> Any:
    folder = missing.reference("cases/generate", SHOWN)
    return json.loads((folder / f"{name}.schema.json").read_text())


@pytest.mark.parametrize("name", RIGHT)
def test_models_accept_what_the_schema_accepts(name: str, tmp_path: Path) -> None:
    schema = document(name)
    package = "given_" + name.replace("-", "_")
    made = schemas.make_models(schema)
    with schemas.import_package(made, tmp_path, package):
        models = import_module(f"{package}.models.all")
        read = import_module(f"{package}._runtime.core.models.base").validator_of
        for definition in schema["$defs"]:
            oracle = schemas.validator({"$ref": f"#/$defs/{definition}", **schema})
            for value in VALUES:
                with tables.case((definition, value)):
                    try:
                        read(getattr(models, definition))(value)
                    except ValueError:
                        assert not oracle.is_valid(value)
                    else:
                        assert oracle.is_valid(value)


def test_refused_schemas_are_refused_at_their_places() -> None:
    for name, places in REFUSED.items():
        with tables.case(name), pytest.raises(ProblemError) as caught:
            schemas.read(document(name))
        errors = [problem for problem in caught.value.problems if problem.level is Level.ERROR]
        assert {error.pointer for error in errors} == places

"""Members that the wire requires and callers need not give."""

import json
import pickle
from copy import deepcopy

import pytest
from mcp_protogen.runtime.core.models.base import is_supplied, required_members
from pydantic import ValidationError
from support.json_types import JsonObject
from support.runtime import stateless as s

USUAL: JsonObject = {"example/capabilities": {}, "example/version": "2030-01-01"}


def test_values_and_objects_are_filled_in_and_written() -> None:
    assert json.loads(s.NameParams(name="x").to_json()) == {"name": "x", "_meta": USUAL}
    result: JsonObject = {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "items": [],
    }
    assert s.ListResult(items=[]).to_wire() == result


def test_the_wire_requires_them_all() -> None:
    assert list(required_members(s.ListResult)) == ["resultType", "cacheScope", "items", "ttlMs"]
    with pytest.raises(ValidationError, match="_meta\n  Field required"):
        s.NameParams.from_wire({"name": "x"})
    with pytest.raises(ValidationError, match="version\n  Field required"):
        s.RequestMeta.from_wire({"example/capabilities": {}})


def test_an_object_of_ones_own_is_taken() -> None:
    params = s.NameParams(name="x", meta=s.RequestMeta(level="debug"))
    assert params.to_wire()["_meta"] == {**USUAL, "level": "debug"}
    assert not is_supplied(params.meta)


def test_default_meta_is_marked_as_supplied() -> None:
    params = s.NameParams(name="x")
    assert is_supplied(params.meta)
    assert is_supplied(params.model_copy().meta)
    assert not is_supplied(s.NameParams.from_wire(params.to_wire()).meta)
    assert not is_supplied(None)
    assert not is_supplied({})


def test_shared_default_meta_is_immutable() -> None:
    params = s.NameParams(name="x")
    with pytest.raises(AttributeError, match="this RequestMeta is a shared default"):
        params.meta.level = "debug"
    with pytest.raises(AttributeError, match="this RequestMeta is a shared default"):
        params.meta.undeclared = 1  # type: ignore[attr-defined]  # pyright: ignore
    with pytest.raises(AttributeError, match="this RequestMeta is a shared default"):
        del params.meta.version
    with pytest.raises(AttributeError, match="this Capabilities is a shared default"):
        params.meta.capabilities.roots = {}
    assert s.NameParams(name="y").to_wire()["_meta"] == USUAL


def test_an_object_of_ones_own_can_be_changed() -> None:
    params = s.NameParams(name="x", meta=s.RequestMeta(level="debug"))
    params.meta.level = None
    assert params.to_wire()["_meta"] == USUAL
    params.meta = s.RequestMeta(version="other")
    assert params.meta.version == "other"


def test_copies_say_the_same() -> None:
    params = s.NameParams(name="x")
    for copy in (deepcopy(params), pickle.loads(pickle.dumps(params))):
        assert copy == params
        assert copy.to_json() == params.to_json()
        copy.meta.level = "debug"
    assert params.to_wire()["_meta"] == USUAL

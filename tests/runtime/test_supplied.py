"""Members that the wire requires and callers need not give."""

import json
import pickle
from copy import deepcopy

import pytest
from mcp_protogen.runtime.core.models.base import is_supplied, required_members
from mcp_revisions.v2026_07_28 import models as m
from pydantic import ValidationError
from support.json_types import JsonObject
from support.sessions.talking import CAPABILITIES, META

LOG_LEVEL = "io.modelcontextprotocol/logLevel"


def test_values_and_objects_are_filled_in_and_written() -> None:
    assert json.loads(m.GetPromptRequestParams(name="x").to_json()) == {"name": "x", "_meta": META}
    result: JsonObject = {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "tools": [],
    }
    assert m.ListToolsResult(tools=[]).to_wire() == result


def test_the_wire_requires_them_all() -> None:
    assert list(required_members(m.ListToolsResult)) == [
        "cacheScope",
        "resultType",
        "tools",
        "ttlMs",
    ]
    with pytest.raises(ValidationError, match="_meta\n  Field required"):
        m.GetPromptRequestParams.from_wire({"name": "x"})
    with pytest.raises(ValidationError, match="protocolVersion`\n  Field required"):
        m.RequestMetaObject.from_wire({CAPABILITIES: {}})


def test_an_object_of_ones_own_is_taken() -> None:
    params = m.GetPromptRequestParams(name="x", meta=m.RequestMetaObject(log_level="debug"))
    assert params.to_wire()["_meta"] == {**META, LOG_LEVEL: "debug"}
    assert not is_supplied(params.meta)


def test_default_meta_is_marked_as_supplied() -> None:
    params = m.GetPromptRequestParams(name="x")
    assert is_supplied(params.meta)
    assert is_supplied(params.model_copy().meta)
    assert not is_supplied(m.GetPromptRequestParams.from_wire(params.to_wire()).meta)
    assert not is_supplied(None)
    assert not is_supplied({})


def test_shared_default_meta_is_immutable() -> None:
    params = m.GetPromptRequestParams(name="x")
    with pytest.raises(AttributeError, match="this RequestMetaObject is a shared default"):
        params.meta.log_level = "debug"
    with pytest.raises(AttributeError, match="this RequestMetaObject is a shared default"):
        params.meta.undeclared = 1  # type: ignore[attr-defined]  # pyright: ignore
    with pytest.raises(AttributeError, match="this RequestMetaObject is a shared default"):
        del params.meta.protocol_version
    with pytest.raises(AttributeError, match="this ClientCapabilities is a shared default"):
        params.meta.client_capabilities.roots = {}
    assert m.GetPromptRequestParams(name="y").to_wire()["_meta"] == META


def test_an_object_of_ones_own_can_be_changed() -> None:
    params = m.GetPromptRequestParams(name="x", meta=m.RequestMetaObject(log_level="debug"))
    params.meta.log_level = None
    assert params.to_wire()["_meta"] == META
    params.meta = m.RequestMetaObject(protocol_version="other")
    assert params.meta.protocol_version == "other"


def test_copies_say_the_same() -> None:
    params = m.GetPromptRequestParams(name="x")
    for copy in (deepcopy(params), pickle.loads(pickle.dumps(params))):
        assert copy == params
        assert copy.to_json() == params.to_json()
        copy.meta.log_level = "debug"
    assert params.to_wire()["_meta"] == META

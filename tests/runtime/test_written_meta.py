"""What a connection adds to `_meta`: spliced into text, or merged with what the caller gave."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.runtime.core.errors import LocalError
from mcp_protogen.runtime.core.models import WireModel
from mcp_protogen.runtime.core.spec import NotificationSpec
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.messages.writing import write_with_meta
from mcp_revisions.v2025_11_25 import methods
from mcp_revisions.v2025_11_25 import models as m
from mcp_revisions.v2026_07_28 import methods as stateless
from mcp_revisions.v2026_07_28.models import (
    GetPromptRequestParams,
    ListToolsResult,
    RequestMetaObject,
    ResultMetaObject,
)
from pydantic_core import to_json
from support.json_types import JsonObject
from support.revisions import STATELESS
from support.sessions.talking import CAPABILITIES, META, VERSION
from support.tables import case

TOKEN = b'"progressToken":5'
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


class PlainParams(WireModel):
    """A class that declares no metadata."""

    name: str | None = None


PLAIN: NotificationSpec[PlainParams] = NotificationSpec(
    "plain", senders=frozenset({"client"}), load_params=lambda: PlainParams, params_required=False
)
TABLE = MethodTable(
    STATELESS, requests=stateless.REQUESTS, notifications={"plain": PLAIN}, errors={}
)


def params(data: bytes) -> Any:
    return json.loads(data)["params"]


def test_members_take_the_place_of_metadata_that_the_caller_did_not_give() -> None:
    data = TABLE.serialise_request(
        stateless.GET_PROMPT, 1, GetPromptRequestParams(name="x"), meta=TOKEN
    )
    assert params(data) == {"name": "x", "_meta": {"progressToken": 5}}


def test_meta_of_caller_stays_except_for_shared_members() -> None:
    meta = RequestMetaObject(log_level="debug", protocol_version="mine")
    meta.__pydantic_extra__ = {"trace": "t"}
    added = b'"%b":"theirs","progressToken":5' % VERSION.encode()
    data = TABLE.serialise_request(
        stateless.GET_PROMPT, 1, GetPromptRequestParams(name="x", meta=meta), meta=added
    )
    assert params(data) == {
        "name": "x",
        "_meta": {
            CAPABILITIES: {},
            VERSION: "theirs",
            LOG_LEVEL: "debug",
            "progressToken": 5,
            "trace": "t",
        },
    }


def test_params_that_are_left_out_are_written_for_their_members() -> None:
    none: Any = None
    data = TABLE.serialise_request(stateless.LIST_TOOLS, 1, none, meta=TOKEN)
    assert params(data) == {"_meta": {"progressToken": 5}}
    data = TABLE.serialise_notification(PLAIN, none, meta=TOKEN)
    assert params(data) == {"_meta": {"progressToken": 5}}
    assert "params" not in json.loads(TABLE.serialise_notification(PLAIN, none))


def test_params_that_are_left_out_are_filled_in_where_the_wire_needs_them() -> None:
    none: Any = None
    assert params(TABLE.serialise_request(stateless.LIST_TOOLS, 1, none)) == {"_meta": META}


def test_params_with_something_to_say_cannot_be_left_out() -> None:
    none: Any = None
    for meta in [None, TOKEN]:
        with case(meta), pytest.raises(LocalError, match="prompts/get needs params"):
            TABLE.serialise_request(stateless.GET_PROMPT, 1, none, meta=meta)


def test_unserialisable_meta_is_local_error() -> None:
    result = ListToolsResult(tools=[], meta=ResultMetaObject.from_wire({"a": object()}))
    with pytest.raises(LocalError, match="tools/list cannot be JSON"):
        TABLE.serialise_result(stateless.LIST_TOOLS, 1, result, meta=TOKEN)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text() | st.sampled_from(["a", "progressToken"]), VALUES, max_size=4)
UNDECLARED = st.dictionaries(st.sampled_from(["x", "meta", "_meta2", "data"]), VALUES, max_size=4)


def agree(model: WireModel, added: JsonObject) -> None:
    """The text is what adding the members to the decoded object gives."""
    wire = json.loads(model.to_json())
    expected = {**wire, "_meta": {**wire.get("_meta", {}), **added}}
    assert json.loads(write_with_meta(model, to_json(added)[1:-1])) == expected


@given(meta=st.none() | OBJECTS, added=OBJECTS, undeclared=UNDECLARED)
def test_an_object_of_free_metadata_gets_the_members(
    meta: Any, added: JsonObject, undeclared: JsonObject
) -> None:
    wire: JsonObject = {"content": [], **undeclared, **({} if meta is None else {"_meta": meta})}
    agree(m.CallToolResult.from_wire(wire), added)


@given(added=OBJECTS, undeclared=UNDECLARED, trace=VALUES)
def test_an_object_of_declared_metadata_gets_the_members(
    added: JsonObject, undeclared: JsonObject, trace: Any
) -> None:
    wire: JsonObject = {"name": "x", "_meta": {**META, "trace": trace}, **undeclared}
    agree(GetPromptRequestParams.from_wire(wire), added)


@given(added=OBJECTS, undeclared=UNDECLARED, meta=st.none() | OBJECTS)
def test_a_class_without_metadata_gets_the_members(
    added: JsonObject, undeclared: JsonObject, meta: Any
) -> None:
    wire: JsonObject = {**undeclared, **({} if meta is None else {"_meta": meta})}
    agree(PlainParams.from_wire(wire), added)


@given(added=OBJECTS)
def test_an_object_without_members_gets_them(added: JsonObject) -> None:
    agree(m.EmptyResult(), added)
    data = methods.TABLE.serialise_request(methods.PING, 1, None, meta=to_json(added)[1:-1])
    assert params(data) == {"_meta": added}

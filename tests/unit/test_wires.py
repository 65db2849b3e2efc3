"""Models and their wires: the join is exact, and what cannot be carried is refused."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs.wires import FILE, join, with_wires
from support.generated.schema_folders import copy_schemas
from support.json_types import read_json
from support.rehearsals.proposals import FOLDER
from support.rehearsals.splitting import split
from support.tables import case, count

Json = dict[str, Any]

PROPOSAL: Final[Json] = read_json(FOLDER / "data-model.json")
REVISION: Final[str] = PROPOSAL["base"]
META: Final[Json] = {"additionalProperties": {}, "type": "object"}
HTTP = "Streamable HTTP"


def read_schema(revision: str) -> Json:
    schema: Json = read_json(schema_folder() / revision / "schema.json")
    return schema


def make_split(**types: str) -> Json:
    """Return the split of the proposal, with other types of the wire for some kinds."""
    changed: Json = copy.deepcopy({**PROPOSAL["split"], "types": PROPOSAL["types"]})
    for kind, type_ in types.items():
        changed["kinds"][kind]["type"] = type_
    return changed


def with_plain_meta(*of_wires: str, **types: str) -> Json:
    """Return the split of a revision whose `_meta` has no version and no type."""
    changed = make_split(**types)
    changed["kinds"]["MCPRequest"]["places"]["protocolVersion"] = []
    changed["types"]["ResultMetadata"]["properties"]["meta"] = META
    return changed | {"of_wires": ["*Result._meta", *of_wires]}


def without_envelopes(*of_wires: str) -> Json:
    """Return the split of a revision whose messages have neither `jsonrpc` nor `id`."""
    return with_plain_meta(
        *("JSONRPCRequest", "JSONRPCNotification", *of_wires),
        MCPRequest="Request",
        MCPNotification="Notification",
        MCPResponse="JSONRPCResponse",
        MCPErrorResponse="JSONRPCError",
    )


SPLITS: Final = {
    "2024-11-05": without_envelopes(),
    "2025-03-26": without_envelopes("JSONRPCBatch*"),
    "2025-06-18": without_envelopes(),
    "2025-11-25": with_plain_meta(),
    REVISION: make_split(),
}
# Requests, notifications and answers that these revisions define.
MESSAGES = 25


def test_a_schema_that_was_split_is_joined_to_the_same_bytes() -> None:
    for revision, split_of in SPLITS.items():
        with case(revision):
            schema = read_schema(revision)
            model, wires = split(schema, split_of)
            required = [type_.get("required", ()) for type_ in model["$defs"].values()]
            assert sum("metadata" in members for members in required) > MESSAGES
            assert json.dumps(join(model, wires["wires"], "", "")) == json.dumps(schema)


def mix_params(random: Random) -> Json:
    """Return a schema whose messages have params and results at random, in unions and inline."""
    schema = read_schema(REVISION)
    types: Json = schema["$defs"]
    for kind, member in (("Request", "params"), ("Notification", "params"), ("Response", "result")):
        messages = [
            type_
            for name, type_ in types.items()
            if name.endswith(kind)
            and {"jsonrpc", member} <= type_.get("properties", {}).keys()
            and not name.startswith(("JSONRPC", "SubscriptionsListen"))
        ]
        held = [message["properties"][member] for message in messages]
        inline = [types[name["$ref"].split("/")[-1]] for name in held if "$ref" in name]
        for message in messages:
            first, second = random.choice(held), random.choice([*held, *copy.deepcopy(inline)])
            choice = random.choice((first, second, {"anyOf": [first, second]}))
            message["properties"][member] = choice
            if kind == "Notification" and random.random() < 0.5:
                message["required"] = [name for name in message["required"] if name != member]
    return schema


def test_messages_that_share_params_at_random_are_joined_to_the_same_bytes() -> None:
    random = Random(REVISION)
    for number in range(count(20, 500)):
        with case(number):
            schema = mix_params(random)
            model, wires = split(schema, make_split())
            assert json.dumps(join(model, wires["wires"], "", "")) == json.dumps(schema)


Change = Callable[[Json, Json], object]
"""A change of the types of the model, and of a wire."""


def find(value: Json, *steps: str) -> Json:
    for step in steps:
        value = value[step]
    return value


def set_both(*steps: str, to: Any) -> Change:
    """Write a value into both wires."""

    def change(_: Json, wires: Json) -> None:
        *above, last = steps
        for wire in wires.values():
            find(wire, *above)[last] = to

    return change


def set_one(*steps: str, to: Any) -> Change:
    """Write a value into one wire, or remove it with None."""

    def change(_: Json, wires: Json) -> None:
        *above, last = steps
        find(wires, HTTP, *above)[last] = to
        if to is None:
            del find(wires, HTTP, *above)[last]

    return change


def set_type(name: str, *steps: str, to: Any) -> Change:
    """Write a value into a type of the model."""

    def change(types: Json, _: Json) -> None:
        *above, last = (name, *steps)
        find(types, *above)[last] = to

    return change


REQUEST = ("messages", "MCPRequest")
OF_CALL = ("CallToolRequest", "properties")
ONE, OTHER = "wires.json#/wires/stdio", f"wires.json#/wires/{HTTP}"
FAULTS: Final[dict[str, tuple[Change, str, str]]] = {
    "a part without a place": (
        set_type(*OF_CALL, "metadata", "properties", "trace", to={"type": "string"}),
        "model.json#/$defs/CallToolRequest",
        "metadata.trace has no place on stdio",
    ),
    "a part without a place that may have itself inside": (
        set_type(
            *OF_CALL, "metadata", "properties", "next", to={"$ref": "#/$defs/CallToolRequest"}
        ),
        "model.json#/$defs/CallToolRequest",
        "metadata.next has no place on stdio",
    ),
    "a union of params that has itself inside": (
        set_type(
            *OF_CALL, "payload", to={"anyOf": [{"$ref": "#/$defs/Endless"}, {"type": "null"}]}
        ),
        f"{ONE}/messages/MCPRequest/places/metadata.meta",
        "CallToolRequest: what is around metadata.meta is not an object",
    ),
    "a place without a part": (
        set_both(*REQUEST, "places", "metadata.trace", to=["/params/_meta/trace"]),
        f"{ONE}/messages/MCPRequest/places/metadata.trace",
        "MCPRequest has no such part",
    ),
    "a place of two parts": (
        set_both(*REQUEST, "places", "method", to=["/params"]),
        f"{ONE}/messages/MCPRequest/places/method",
        "another part has the place /params, too",
    ),
    "a header of two parts": (
        set_both(*REQUEST, "places", to={"method": ["mcp-method"], "payload": ["mcp-method"]}),
        f"{ONE}/messages/MCPRequest/places/method",
        "another part has the place mcp-method, too",
    ),
    "a part that one wire cannot carry": (
        set_one(*REQUEST, "places", "metadata.meta", to=None),
        f"{OTHER}/messages/MCPRequest/places/metadata.meta",
        f"{HTTP} does not carry this as stdio does",
    ),
    "a part at another place on one wire": (
        set_one(*REQUEST, "places", "method", to=["mcp-method"]),
        f"{OTHER}/messages/MCPRequest/places/method",
        f"{HTTP} does not carry this as stdio does",
    ),
    "copies of a type that differ": (
        set_one("types", "RequestId", "type", to="string"),
        f"{OTHER}/types/RequestId/type",
        f"{HTTP} does not carry this as stdio does",
    ),
    "a member of a type with two meanings": (
        set_both("types", "Tool", to={"properties": {"name": {"type": "integer"}}}),
        f"{ONE}/types/Tool/properties/name",
        "the model has another",
    ),
    "a type with two meanings": (
        set_both("types", "LoggingLevel", to={"type": "integer"}),
        f"{ONE}/types/LoggingLevel/type",
        "the model has another",
    ),
    "a type of the wire that is any value in the model": (
        set_type("RequestId", to=True),
        f"{ONE}/types/RequestId",
        "the model has another",
    ),
    "a kind that the model lacks": (
        set_both("messages", "MCPCall", to={"type": "JSONRPCRequest", "names": [], "places": {}}),
        f"{ONE}/messages/MCPCall",
        "the model has no such type",
    ),
    "a kind without a type of the wire": (
        set_both(*REQUEST, "type", to="JSONRPCCall"),
        f"{ONE}/messages/MCPRequest/type",
        "this wire has no such type of messages",
    ),
    "a kind with a union of the wire": (
        set_both(*REQUEST, "type", to="JSONRPCMessage"),
        f"{ONE}/messages/MCPRequest/type",
        "this wire has no such type of messages",
    ),
    "a message of no kind": (
        set_both(*REQUEST, "names", to=["*eRequest", "*sRequest"]),
        "model.json#/$defs/CallToolRequest",
        "by its name, this is a message of no kind",
    ),
    "a message of two kinds": (
        set_both("messages", "MCPNotification", "names", to=["*Notification", "CallToolRequest"]),
        "model.json#/$defs/CallToolRequest",
        "by its name, this is a message of MCPRequest and MCPNotification",
    ),
    "params that hold nothing": (
        set_type(*OF_CALL, "payload", to={"type": "array"}),
        f"{ONE}/messages/MCPRequest/places/metadata.meta",
        "CallToolRequest: what is around metadata.meta is not an object",
    ),
    "params with another value in a place": (
        set_type("CallToolRequestParams", "properties", "_meta", to={"type": "string"}),
        f"{ONE}/messages/MCPRequest/places/metadata.meta",
        "CallToolRequest: another value than metadata.meta has its place",
    ),
    "shared params with two meanings": (
        set_type(
            "ListToolsRequest", "properties", "metadata", to={"$ref": "#/$defs/ResultMetadata"}
        ),
        f"{ONE}/messages/MCPRequest/places/metadata.meta",
        "another value than metadata.meta has its place",
    ),
}


def test_a_model_and_wires_without_one_meaning_are_refused_with_the_place() -> None:
    model, wires = split(read_schema(REVISION), make_split())
    for name, (change, where, message) in FAULTS.items():
        with case(name):
            changed: Json = copy.deepcopy({"types": model["$defs"], **wires})
            changed["types"]["Endless"] = {"anyOf": [{"$ref": "#/$defs/Endless"}]}
            change(changed["types"], changed["wires"])
            with pytest.raises(ProblemError) as refused:
                join({**model, "$defs": changed["types"]}, changed["wires"], "model.json", FILE)
            problem, *_ = refused.value.problems
            assert (problem.code, problem.where) == ("wires-disagree", where)
            assert message in problem.message


DEEP = '{"items":' * 100 + "true" + "}" * 100
FILE_FAULTS: Final[dict[str, tuple[Change, str, str, str]]] = {
    "a misspelt member": (
        set_both(*REQUEST, "nmes", to=[]),
        "bad-form",
        "#/wires/Streamable HTTP/messages/MCPRequest",
        "'nmes' was unexpected",
    ),
    "a type that is not a schema": (
        set_both("types", "RequestId", "type", to="text"),
        "bad-form",
        "#/wires/Streamable HTTP/types/RequestId/type",
        "'text' is not valid",
    ),
    "a type that is nested too deeply": (
        lambda _, wires: wires["stdio"]["types"].update(Deep=json.loads(DEEP)),
        "bad-form",
        "",
        "it is nested more than 60 levels deep",
    ),
    "a place of more than ten steps": (
        set_one(*REQUEST, "places", "payload", to=["/a" * 11]),
        "bad-form",
        f"#/wires/{HTTP}/messages/MCPRequest/places/payload/0",
        "does not match",
    ),
    "a part of more than ten steps": (
        set_one(*REQUEST, "places", "payload" + ".a" * 10, to=["/params"]),
        "bad-form",
        f"#/wires/{HTTP}/messages/MCPRequest/places",
        "does not match",
    ),
    "a transport without facts": (
        lambda _, wires: wires.update(pigeons=wires["stdio"]),
        "wires-disagree",
        "#/wires/pigeons",
        "facts.json has no such transport",
    ),
    "a header without facts": (
        set_one(*REQUEST, "places", "payload", to=["/params", "mcp-payload"]),
        "wires-disagree",
        "#/wires/Streamable HTTP/messages/MCPRequest/places/payload",
        "facts.json has no header mcp-payload",
    ),
    "a header of another part": (
        lambda _, wires: find(wires, HTTP, *REQUEST, "places").update(
            method=["/method"], payload=["/params", "mcp-method"]
        ),
        "wires-disagree",
        "#/wires/Streamable HTTP/messages/MCPRequest/places/payload",
        "mcp-method repeats method by facts.json, not payload",
    ),
}


def test_a_file_of_wires_that_is_misspelt_or_differs_from_facts_is_refused(tmp_path: Path) -> None:
    model, wires = split(read_schema(REVISION), make_split())
    folder = copy_schemas(tmp_path)
    for name, (change, code, pointer, message) in FILE_FAULTS.items():
        with case(name):
            changed = copy.deepcopy(wires)
            change({}, changed["wires"])
            (folder / REVISION / FILE).write_text(json.dumps(changed))
            with pytest.raises(ProblemError) as refused:
                with_wires(model, REVISION, folder, "model.json")
            problem, *_ = refused.value.problems
            place = f"schema/{REVISION}/{FILE}{pointer}"
            assert (problem.code, problem.where) == (code, place)
            assert message in problem.message


def test_unions_of_unions_get_parts_once() -> None:
    model, wires = split(read_schema(REVISION), make_split())
    types = model["$defs"]
    for number in range(60):
        types[f"U{number}"] = {"anyOf": [{"$ref": f"#/$defs/U{number + 1}"}] * 2}
    types["U60"] = {"type": "object", "properties": {}}
    find(types, *OF_CALL)["payload"] = {"$ref": "#/$defs/U0"}
    joined = join(model, wires["wires"], "", "")["$defs"]
    assert joined["U60"]["required"] == ["_meta"]


def test_a_method_of_any_value_is_no_message(tmp_path: Path) -> None:
    schema = {"$defs": {"Any": {"properties": {"method": True}, "required": ["metadata"]}}}
    assert with_wires(schema, "draft", copy_schemas(tmp_path), "schema.json") == schema


def test_an_object_around_a_required_part_is_required() -> None:
    model, wires = split(read_schema(REVISION), make_split())
    metadata = find(model, "$defs", "DiscoverRequest", "properties", "metadata")
    del metadata["required"]
    model["$defs"]["DiscoverRequest"]["required"].remove("payload")
    assert join(model, wires["wires"], "", "") == read_schema(REVISION)


def test_a_draft_has_the_wires_of_the_revision_that_it_resembles(tmp_path: Path) -> None:
    schema = read_schema(REVISION)
    model, wires = split(schema, make_split())
    folder = copy_schemas(tmp_path)
    with pytest.raises(ProblemError, match="19 messages require members that JSON-RPC lacks"):
        with_wires(model, "draft", folder, "model.json")
    (folder / REVISION / FILE).write_text(json.dumps(wires))
    assert with_wires(model, "draft", folder, "model.json") == schema
    assert with_wires(schema, "draft", folder, "schema.json") == schema

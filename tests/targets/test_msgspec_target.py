"""The target `msgspec`: what its types accept and keep, and how it reads whole messages."""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from types import ModuleType
from typing import Any

import msgspec
import pytest
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.names import type_name
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.package import GenerationInputs, Package
from mcp_protogen.pipeline.target import LAYERS, TargetOptions
from support import tables
from support.generated import made_up_schemas, oracle
from support.generated.differential import same
from support.generated.instances import Instances
from support.generated.spec_examples import examples
from support.targets import differential
from support.targets.differential import EXAMPLES, Difference
from support.targets.made_up_modules import build_module
from support.targets.target_modules import module
from support.unit import schemas

Json = dict[str, Any]

pytestmark = pytest.mark.long

OPTIONS = TargetOptions("msgspec", LAYERS)


@cache
def _decoder(revision: str, name: str) -> msgspec.json.Decoder[Any]:
    made = module(OPTIONS, revision)
    return msgspec.json.Decoder(getattr(made, name), dec_hook=made.dec_hook)


def _accepts(subject: str, value: Any) -> bool:
    return _reads(_decoder(*subject.split()), json.dumps(value))


def _reads(decoder: msgspec.json.Decoder[Any], text: str) -> bool:
    try:
        decoder.decode(text)
    except msgspec.ValidationError:
        return False
    return True


def _any_metadata(document: Json) -> None:
    for schema in list(differential.objects(document)):
        members: Any = schema.get("properties")
        if is_object(members) and "_meta" in members:
            # An object that declares nothing else is a dictionary, too.
            metadata = {"type": "object"} if len(members) > 1 else {}
            # Declarations stay where they are, because a type may be there.
            del schema["properties"]
            loose = {"properties": {**members, "_meta": metadata}}
            schema["anyOf"] = [{"properties": members}, loose]


def _tag_for_unions_only(document: Json) -> None:
    """Require the tag of a class where it is an arm of a union, and not where it stands alone."""
    for schema in differential.objects(document):
        arms: Any = schema.get("anyOf")  # in `properties`, it is a member of that name
        classes = [_resolve_arm(document, arm) for arm in arms] if is_array(arms) else []
        for member in ("type", "method"):
            tags = [
                class_schema.get("properties", {}).get(member, {}).get("const")
                for class_schema in classes
            ]
            if len(set(tags) - {None}) == len(tags) > 1:
                for arm, class_ in zip(arms, classes, strict=True):
                    arm["required"] = [member]
                    class_["required"] = [name for name in class_["required"] if name != member]


def _resolve_arm(document: Json, arm: Json) -> Json:
    definition: Json = document["$defs"].get(str(arm.get("$ref")).rpartition("/")[2], {})
    return definition


METADATA = Difference("a Struct would drop what others put into `_meta`", _any_metadata)

TAGS = Difference("msgspec needs a tag only to choose from a union", _tag_for_unions_only)


def test_types_accept_what_the_schema_accepts_but_for_known_differences() -> None:
    differential.require_agreement(
        _accepts, (differential.ANY_JSON_SCHEMA, differential.EXACT_INTEGERS, TAGS, METADATA)
    )


@pytest.mark.parametrize("revision", differential.COMPARED)
def test_declared_members_come_back_as_they_were(revision: str) -> None:
    document = deepcopy(oracle.patch_snapshot(revision))
    for schema in differential.objects(document):
        if schema.get("type") == "object" and "properties" in schema:
            schema["additionalProperties"] = False
    instances = Instances(document)
    for subject in oracle.subjects(revision).values():
        for value in instances.some(subject.pointer, EXAMPLES):
            typed = _decoder(revision, subject.name).decode(json.dumps(value))
            found = json.loads(msgspec.json.encode(typed))
            assert same(found, value, exact=True), f"{subject.name}: {value!r:.300}"


@pytest.mark.parametrize("revision", differential.COMPARED)
def test_of_what_the_schema_accepts_only_undeclared_members_are_lost(revision: str) -> None:
    lost = 0
    for sample in differential.samples(revision):
        if sample.valid and _accepts(f"{revision} {sample.name}", sample.value):
            typed = _decoder(revision, sample.name).decode(json.dumps(sample.value))
            found = json.loads(msgspec.json.encode(typed))
            assert _is_part(found, sample.value), sample.name
            lost += found != sample.value
    assert lost


def _is_part(found: Any, value: Any) -> bool:
    """Return whether a value is another one without some members of objects."""
    if is_object(value):
        return is_object(found) and all(
            name in value and _is_part(item, value[name]) for name, item in found.items()
        )
    if is_array(value):
        return (
            is_array(found)
            and len(found) == len(value)
            and all(_is_part(left, right) for left, right in zip(found, value, strict=True))
        )
    return same(found, value, exact=True)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The module for types that no published schema has."""
    file = build_module("msgspec", "__init__.py")
    package = Package((file,), GenerationInputs("", "", "", "", {}, {}))
    with schemas.import_package(
        package, tmp_path_factory.mktemp("made-up"), "msgspec_made_up"
    ) as found:
        yield found


def test_types_accept_what_their_definitions_accept(made_up: ModuleType) -> None:
    definitions = {**schemas.schema()["$defs"], **made_up_schemas.SCHEMAS}
    for name, schema in made_up_schemas.TRIED.items():
        wanted = schemas.validator({**schema, "$defs": definitions})
        decoder = msgspec.json.Decoder(getattr(made_up, type_name(name)), dec_hook=made_up.dec_hook)
        for value in made_up_schemas.values(schema):
            text = json.dumps(value)
            if "1.0" not in text:  # that integers have no fraction is a known difference
                with tables.case(f"{name}: {text}"):
                    assert _reads(decoder, text) == wanted.is_valid(value)


def test_examples_of_the_specification_are_read_and_written() -> None:
    for example in examples("request", "notification", "response", "error"):
        made, message = module(OPTIONS, example.revision), example.whole()
        with tables.case(example.name):
            if message.get("method") == "some_method":  # its page shows any request at all
                with pytest.raises(made.InvalidMessage, match="some_method"):
                    made.decode(_encode(message))
                continue
            found = made.decode(_encode(message))
            if isinstance(found, made.ResultMessage) and example.entry["method"] in made.METHODS:
                found.result = made.decode_result(example.entry["method"], found.result)
                assert type(found.result).__name__ in ("dict", example.entry["definition"])
            written = json.loads(msgspec.json.encode(found))
            # An absent object of params and an empty one say the same.
            assert same(written, {**message, **_empty_params(written)}, exact=True)


def _empty_params(message: Json) -> Json:
    return {"params": {}} if message.get("params") == {} else {}


def _encode(message: Any) -> bytes:
    return json.dumps(message).encode()


# What is read, and the code and the id of the error to answer with.
INVALID: tuple[tuple[bytes, int, object], ...] = (
    (b"{", -32700, None),
    (b'{"jsonrpc": "2.0", "method": "\xff"}', -32700, None),
    (b'{"jsonrpc": "2.0", "params": ' + b"[" * 100_000, -32700, None),
    (b"[]", -32600, None),
    (b'{"id": 1, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": 1}', -32600, None),
    (b'{"jsonrpc": "2.0", "result": {}}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/eat"}', -32601, 1),
    (b'{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "x"}}', -32601, None),
    (b'{"jsonrpc": "2.0", "id": "a", "method": "tools/call"}', -32602, "a"),
    (b'{"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": {}}', -32602, 0),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": null}', -32602, 1),
    (
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": "\\ud800"}}',
        -32700,
        None,
    ),
    (b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}', -32602, None),
)


def test_an_invalid_message_says_which_error_to_answer_with() -> None:
    made = module(OPTIONS, "2025-11-25")
    for data, code, id in INVALID:
        with tables.case(data[:80]), pytest.raises(made.InvalidMessage) as raised:
            made.decode(data)
        assert (raised.value.code, raised.value.id) == (code, id), data[:80]


def test_a_result_is_read_as_another_type_if_the_usual_one_does_not_fit() -> None:
    newest, before = module(OPTIONS, "2026-07-28"), module(OPTIONS, "2025-11-25")
    content = b'{"content": [], "resultType": "complete"}'
    asking = b'{"resultType": "input_required", "requestState": "x"}'
    assert isinstance(newest.decode_result("tools/call", content), newest.CallToolResult)
    assert isinstance(newest.decode_result("tools/call", asking), newest.InputRequiredResult)
    assert isinstance(before.decode_result("tools/call", content), before.CallToolResult)
    with pytest.raises(msgspec.ValidationError, match="`content`"):
        before.decode_result("tools/call", b"{}")
    with pytest.raises(msgspec.ValidationError, match="`cacheScope`"):
        newest.decode_result("tools/list", b'{"tools": []}')


def test_the_answer_to_a_known_method_is_read_as_in_two_steps() -> None:
    for example in examples("response", "error"):
        made, answer = module(OPTIONS, example.revision), _encode(example.whole())
        method = example.entry.get("method", "tools/call")
        if method in made.METHODS:
            with tables.case(example.name):
                wanted = made.decode(answer)
                if isinstance(wanted, made.ResultMessage):
                    wanted.result = made.decode_result(method, wanted.result)
                assert made.decode_answer(method, answer) == wanted
    made = module(OPTIONS, "2026-07-28")
    asking = {"resultType": "input_required", "requestState": "x"}
    answer = _encode({"jsonrpc": "2.0", "id": 1, "result": asking})
    found = made.decode_answer("tools/call", answer)
    assert isinstance(found.result, made.InputRequiredResult)


# An answer, the id in its error, and the message.
NO_ANSWERS: tuple[tuple[bytes, object, str], ...] = (
    (b"{", None, "truncated"),
    (b'{"id": 1, "result": {"content": []}}', None, "`jsonrpc`"),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', None, "not a request"),
    (b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', None, "not a request"),
    (b'{"jsonrpc": "2.0", "id": 1}', None, "not a request"),
    (b'{"jsonrpc": "2.0", "id": null, "result": {"content": []}}', None, "not a request"),
    (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', 1, r"`content` - at `\$\.result`"),
    (b'{"jsonrpc": "2.0", "id": 1, "error": {}}', None, "`code`"),
)


def test_invalid_answer_to_known_method_is_refused() -> None:
    made = module(OPTIONS, "2025-11-25")
    for data, id, text in NO_ANSWERS:
        with tables.case(data), pytest.raises(made.InvalidMessage, match=text) as raised:
            made.decode_answer("tools/call", data)
        assert raised.value.id == id, data
    with pytest.raises(KeyError, match="tools/eat"):
        made.decode_answer("tools/eat", b"{}")


def test_of_the_arms_that_fit_the_one_that_keeps_most_is_taken() -> None:
    made = module(OPTIONS, "2025-11-25")
    decoder = msgspec.json.Decoder(made.PrimitiveSchemaDefinition, dec_hook=made.dec_hook)
    for text, kind in (
        ('{"type": "string"}', made.StringSchema),
        ('{"type": "string", "enum": ["a"]}', made.UntitledSingleSelectEnumSchema),
        ('{"type": "string", "enum": ["a"], "enumNames": ["A"]}', made.LegacyTitledEnumSchema),
        ('{"type": "boolean", "default": true}', made.BooleanSchema),
    ):
        found = decoder.decode(text)
        assert type(found) is kind
        assert isinstance(found, made.PrimitiveSchemaDefinition)
        assert msgspec.json.encode(found) == text.replace(" ", "").encode()
    assert not isinstance(made.Role, made.PrimitiveSchemaDefinition)
    schema = b'{"type": "object", "properties": {"a": {"type": "x"}}}'
    with pytest.raises(
        msgspec.ValidationError, match=r"at `\$\.type` - at `\$\.properties\[...\]`"
    ):
        _decoder("2025-11-25", "ElicitRequestFormParamsRequestedSchema").decode(schema)


def test_undeclared_members_can_be_refused_but_for_open_types() -> None:
    made = module(OPTIONS._replace(extra="forbid"), "2025-11-25")
    with pytest.raises(msgspec.ValidationError, match="unknown field `more`"):
        msgspec.json.decode(b'{"name": "x", "more": 1}', type=made.CallToolRequestParams)
    result = made.decode_result("tools/call", b'{"content": [], "more": 1}')
    assert result == made.CallToolResult(content=[])


def test_classes_extend_one_of_the_user() -> None:
    options = OPTIONS._replace(base_class="support.targets.bases:Named")
    made = module(options, "2025-11-25")
    assert made.Role not in vars(made.Tool)
    assert made.TextContent(text="x").kind() == "TextContent"
    assert msgspec.json.encode(made.TextContent(text="x")) == b'{"type":"text","text":"x"}'


def test_extra_members_cannot_be_allowed() -> None:
    with pytest.raises(ProblemError, match="undeclared members"):
        module(OPTIONS._replace(extra="allow"), "2025-11-25")

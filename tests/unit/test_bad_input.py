"""Every fault of a schema gives a clear problem, never another exception."""

from collections.abc import Callable
from typing import Any

from support import tables
from support.unit import schemas
from support.unit.schemas import ANY_OBJECT, STRING, Json, errors_of, record, ref, union

Mutation = Callable[[Json], object]


def define(**definitions: Any) -> Mutation:
    return lambda definition: definition.update(definitions)


def member(**members: Any) -> Mutation:
    """Members added to the params of `echo/say`."""

    def mutate(definitions: Json) -> None:
        definitions["SayRequest"]["properties"]["params"]["properties"] |= members

    return mutate


def without(*names: str) -> Mutation:
    return lambda definitions: [definitions.pop(name) for name in names]


# By code: the place below `$defs`, and what spoils the schema.
REFUSED: dict[str, dict[str, tuple[str, Mutation]]] = {
    "dangling-ref": {
        "reference to nowhere": ("/A", define(A=ref("Nowhere"))),
        "reference to another file": (
            "/A/properties/x",
            define(A=record(x={"$ref": "https://example.com/x.json"})),
        ),
        "reference to a local file": ("/A", define(A={"$ref": "file:///etc/passwd"})),
        "reference through a definition that is only a reference": (
            "/A/properties/x",
            define(A=record(x=ref("B/properties/text")), B=ref("TextBlock")),
        ),
        "reference to nowhere inside of a definition": (
            "/A/properties/x/properties/y",
            define(A=record(x=record(y=ref("Nowhere"))), B=ref("A/properties/x")),
        ),
        "reference to an unknown anchor": (
            "/A",
            define(A={"$ref": "#anchor"}, B={"$anchor": "other"}),
        ),
    },
    "ref-cycle": {
        "cycle of references": ("/A", define(A=ref("B"), B=ref("C"), C=ref("A"))),
        "union that contains itself": ("/A", define(A={"anyOf": [STRING, ref("A")]})),
        "union that contains itself through another": ("/A", define(A=union("B"), B=union("A"))),
        "intersection with itself": ("/A", define(A={"allOf": [ref("A"), record(x=STRING)]})),
    },
    "unsupported-schema": {
        "dynamic reference": ("/A/$dynamicRef", define(A={"$dynamicRef": "#node"})),
        "definition without values": ("/A", define(A=False)),
        "member without values": ("/A/properties/x", define(A=record(x=False))),
        "enumeration of nothing": ("/A/enum", define(A={"type": "string", "enum": []})),
        "constant of another type": ("/A/const", define(A={"type": "string", "const": 1})),
    },
    "bad-intersection": {
        "intersection of object and string": ("/A", define(A={"allOf": [ref("Result"), STRING]})),
        "required member of two types": (
            "/A/properties/x",
            define(A=record(("x",), x={"allOf": [STRING, {"type": "integer"}]})),
        ),
        "nested intersection of different types": (
            "/A",
            define(A={"allOf": [{"allOf": [record(x=STRING), {"type": "array"}]}]}),
        ),
    },
    "name-collision": {
        "two types of one name in Python": (
            "",
            define(**{"A<B>": record(x=STRING), "AB": record(x=STRING)}),
        ),
        "members that are one in snake case": (
            "/A/properties",
            define(A=record(fooBar=STRING, foo_bar=STRING)),
        ),
        "member that takes the name of a renamed one": (
            "/A/properties",
            define(A=record(list=STRING, list_=STRING)),
        ),
        "request and notification of one stem": (
            "",
            define(
                SayNotification=schemas.message("notifications/say", ref("SayRequestParams2")),
                SayRequestParams2=record(x=STRING),
                ServerNotification=union("SayNotification"),
            ),
        ),
        "request called like the sending of a notification": (
            "",
            define(
                NotifyGoneRequest=schemas.message("gone/ask"),
                ClientRequest=union("SayRequest", "PingRequest", "NotifyGoneRequest"),
            ),
        ),
        "request called like the walk through a list": (
            "",
            define(
                IterSayRequest=schemas.message("say/iterate"),
                ClientRequest=union("SayRequest", "PingRequest", "IterSayRequest"),
            ),
        ),
        "request called like a table": (
            "",
            define(
                TableRequest=schemas.message("table"),
                ClientRequest=union("SayRequest", "TableRequest"),
            ),
        ),
        "notification called like an error": (
            "",
            define(
                ParseErrorNotification=schemas.message("notifications/error", record(x=STRING)),
                ClientNotification=union("ParseErrorNotification"),
            ),
        ),
        "capabilities of one constant": (
            "",
            define(
                ServerCapabilities={**record(echo=record(loud=ANY_OBJECT), echoLoud=ANY_OBJECT)}
            ),
        ),
        "two messages for one method, and a type that is called as their params": (
            "/SayRequestParamsChoice",
            define(
                SayRequestParamsChoice=STRING,
                TalkRequest=schemas.message("echo/say", ref("AskRequestParams")),
                ClientRequest=union("SayRequest", "PingRequest", "TalkRequest"),
            ),
        ),
    },
    "no-message-unions": {
        "no unions at all": (
            "",
            without("ClientRequest", "ServerRequest", "ClientNotification", "ServerNotification"),
        ),
        "no requests of clients": ("", without("ClientRequest")),
        "union that is anything": ("/ClientRequest", define(ClientRequest=True)),
    },
    "bad-message": {
        "message without a method": ("/TextBlock", define(ServerNotification=union("TextBlock"))),
        "method that is any string": (
            "/SayRequest",
            define(SayRequest=record(("method",), method=STRING, params=ref("AskRequestParams"))),
        ),
        "two messages for one method": (
            "/SayRequest",
            define(AskRequest=schemas.message("echo/say", ref("AskRequestParams"))),
        ),
        "request and notification of one method": (
            "/SayRequest",
            define(GoneNotification=schemas.message("echo/say", ref("AskRequestParams"))),
        ),
        "two messages for one method, one of them without named params": (
            "/SayRequest",
            define(
                TalkRequest=schemas.message("echo/say", ANY_OBJECT),
                ClientRequest=union("SayRequest", "PingRequest", "TalkRequest"),
            ),
        ),
        "two messages for one method, one from each side, with other params": (
            "/SayRequest",
            define(
                TalkRequest=schemas.message("echo/say", ref("RequestParams")),
                ServerRequest=union("AskRequest", "TalkRequest"),
            ),
        ),
        "params that are a choice": (
            "/SayRequest/properties/params",
            define(SayRequest=schemas.message("echo/say", union("AskRequestParams", "Result"))),
        ),
        "params that are an array": (
            "/SayRequest/properties/params",
            define(SayRequest=schemas.message("echo/say", {"type": "array"})),
        ),
        "request without a result": ("/PingRequest", without("EmptyResult")),
        "request without params and no plain ones": (
            "/PingRequest",
            lambda definitions: [
                definitions.pop("RequestParams"),
                definitions.update(AskRequestParams=record(x=STRING)),
                definitions["PingRequest"]["properties"].pop("params"),
            ],
        ),
    },
    "unsafe-name": {
        "message called just Request": (
            "/Request",
            define(Request=schemas.message("x"), ClientRequest=union("Request", "SayRequest")),
        )
    },
}


def test_a_schema_that_cannot_be_used_is_refused_with_code_place_and_hint() -> None:
    rows = [(code, name, *row) for code, rows in REFUSED.items() for name, row in rows.items()]
    for code, name, place, mutate in rows:
        with tables.case(name):
            document = schemas.schema()
            mutate(document["$defs"])
            found = errors_of(document)
            first = found[0]
            assert (first.code, first.pointer) == (code, f"/$defs{place}"), found
            assert first.place == "tiny.json"
            assert first.message and first.hint
            assert {problem.code for problem in found} == {code}


def test_faults_that_different_steps_find_are_shown_at_once() -> None:
    document = schemas.schema()
    faults: dict[str, tuple[str, Json]] = {
        "DanglingRequest": ("dangling-ref", schemas.message("a", ref("Nowhere"))),
        "ImpossibleRequest": (
            "bad-intersection",
            schemas.message("b", {"allOf": [STRING, {"type": "array"}]}),
        ),
        "NamelessRequest": ("bad-message", record(method=STRING)),
        "Request": ("unsafe-name", schemas.message("c")),
        "ArrayRequest": ("bad-message", schemas.message("d", {"type": "array"})),
        "PingRequest": ("bad-message", record(("method",), method={"const": "ping"})),
        "TalkRequest": ("bad-message", schemas.message("echo/say", ANY_OBJECT)),
    }
    defs = document["$defs"]
    defs |= {name: definition for name, (_, definition) in faults.items()}
    defs["ClientRequest"] = union("SayRequest", *faults, "NowhereRequest")
    without("RequestParams")(defs)
    defs |= {"AskRequestParams": record(x=STRING), "ServerRequest": union("AskRequest")}
    defs["Request"]["properties"]["params"] = ref("AskRequestParams")
    found = {(problem.code, problem.pointer.split("/")[2]) for problem in errors_of(document)}
    expected = {(code, name) for name, (code, _) in faults.items()}
    others = {("dangling-ref", "ClientRequest"), ("bad-message", "SayRequest")}
    assert found == expected | others


def test_every_unsafe_name_is_shown_at_once() -> None:
    document = schemas.schema()
    document["$defs"] |= {"Ä": record(x=STRING), "A": record(**{"": STRING, "é": STRING})}
    assert [problem.code for problem in errors_of(document)] == ["unsafe-name"] * 3

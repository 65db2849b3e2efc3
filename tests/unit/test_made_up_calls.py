"""The members that calls take one by one, for params that published schemas lack."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.derive import calls
from mcp_protogen.pipeline.emit.template_contexts import Call
from mcp_protogen.pipeline.emit.views import calls as stubs_of
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.runtime.core.options import CallOptions
from support.tables import case
from support.unit import schemas
from support.unit.schemas import PAGE, STRING, Json, message, record, ref, union

INTEGER: Json = {"type": "integer"}
TASK: Json = record(("id",), id=STRING)

PARAMS: dict[str, Json] = {
    "a required option": record(("timeout",), timeout=INTEGER),
    "an optional option": record(("x",), x=STRING, timeout=INTEGER, self=STRING, check=STRING),
    "one optional member": record(("x",), x=STRING, y=STRING, _meta=record()),
    "several optional members": record(("x",), x=STRING, y=STRING, z=STRING),
    "anything first": record(("value",), value={}, y=STRING),
    "itself first": ref("NodeParams"),
    "a union": ref("SideParams"),
    "named params": record(("params",), params=STRING, y=STRING),
    "null or absent": record((), x={"anyOf": [STRING, {"type": "null"}]}, any={}),
    "constants": record(("kind", "level"), kind={"const": "a"}, level={"enum": ["b", "c"]}),
}
DEFINITIONS: Json = {
    "NodeParams": record(("child",), child={"anyOf": [ref("NodeParams"), {"type": "null"}]}),
    "LeftParams": record(("side", "x"), side={"const": "left"}, x=STRING, task=TASK),
    "RightParams": record(("side", "x", "y"), side={"const": "right"}, x=STRING, y=INTEGER),
    "SideParams": union("LeftParams", "RightParams"),
}
PARAMETERS: dict[str, list[str]] = {
    "a required option": [],
    "an optional option": ["x: str", "check: str | None = None"],
    "one optional member": ["x: str", "y: str | None = None", "*", "meta: "],
    "several optional members": ["x: str", "*", "y: str | None = None", "z: str | None = None"],
    "anything first": ["value: Any", "y: str | None = None"],
    "itself first": ["child: m.NodeParams | None"],
    "a union": ["x: str", "task: "],
    "constants": ['level: Literal["b", "c"]'],
    "named params": ["params: str", "y: str | None = None"],
    "null or absent": [
        "*",
        "x: str | None | Omitted = OMITTED",
        "any: Any | None | Omitted = OMITTED",
    ],
}
MADE = {
    "one optional member": "m.TryRequestParams(x=x, y=y, meta=meta)",
    "constants": "m.TryRequestParams(level=level)",
    "null or absent": "m.TryRequestParams(**present(x=x, any=any))",
}


def make_revision(params: Json) -> RevisionIR:
    """A revision with a request of these params."""
    document = schemas.schema()
    definitions: Any = document["$defs"]
    definitions |= DEFINITIONS
    definitions |= {"TryRequest": message("try/it", params), "TryResult": record()}
    definitions["ClientRequest"]["anyOf"].append(ref("TryRequest"))
    return schemas.read(document).ir


def test_each_signature_has_its_parameters() -> None:
    for name, params in PARAMS.items():
        with case(name):
            found = stubs_of(make_revision(params))["try/it"]
            parameters = [*found[0].parameters] if found else []
            assert len(parameters) == len(PARAMETERS[name])
            for text, wanted in zip(parameters, PARAMETERS[name], strict=True):
                assert text.startswith(wanted)
            if name in MADE:
                assert found[0].params == MADE[name]


def stub_of(
    params: Json, results: Json, variants: Json, needs: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Call, ...]:
    """The calls of a request with these params, results and facts."""
    document, facts = schemas.schema(), schemas.facts()
    definitions: Any = document["$defs"]
    definitions |= DEFINITIONS
    definitions |= {"TryRequest": message("try/it", params), "TryResult": results}
    definitions["ClientRequest"]["anyOf"].append(ref("TryRequest"))
    own = {"message": "TryRequest", "senders": ["client"], "results": ["TryResult"]}
    facts["methods"]["try/it"] = {**facts["methods"]["user/ask"], **own, "variants": variants}
    requires = {path: {"level": "MUST", "when": needs[path], "source": PAGE} for path in needs}
    facts["methods"]["try/it"] |= {"requires": requires}
    facts["methods"]["try/it"]["params"] = params.get("$ref", "/TryRequestParams").rsplit("/")[-1]
    return stubs_of(schemas.derive(document, facts).ir)["try/it"]


def test_a_member_that_asks_for_another_result_is_in_a_call_of_its_own() -> None:
    results: Json = {"anyOf": [record((), y=STRING), record(("task",), task=TASK)]}
    params = record(("x",), x=STRING, task=TASK)
    plain, later = stub_of(params, results, {"try_later": "task"})
    assert not any("task" in parameter for parameter in plain.parameters) and not plain.once
    assert later.parameters[2].startswith("task: ") and " = " not in later.parameters[2]
    assert later.name == "try_later" and later.once
    (plain,) = stub_of(params, results, {})
    assert "task" not in plain.params


def test_a_call_that_is_for_nothing_is_named_with_what_it_may_be_for() -> None:
    task = {"anyOf": [record((), y=STRING), record(("task",), task=TASK)]}
    for params, results, choices in (
        (ref("SideParams"), record(), "name one of RightParams"),
        (record(("x",), x=STRING, task=TASK), task, "name one of task"),
        (record(("x",), x=STRING), record(), "remove the entry"),
    ):
        with case(choices), pytest.raises(ProblemError) as caught:
            stub_of(params, results, {"try_it": "LeftParams"})
        (problem,) = caught.value.problems
        assert (problem.code, problem.hint) == ("facts-disagree", choices)
        assert problem.pointer == "/methods/try~1it/variants/try_it"
        assert "'LeftParams'" in problem.message


def test_an_alternative_arm_of_params_is_a_call_of_its_own() -> None:
    left, right = stub_of(ref("SideParams"), record(), {"try_right": "RightParams"})
    assert left.params.startswith("m.LeftParams(x=x") and "y" not in left.params
    assert (right.name, right.params) == ("try_right", "m.RightParams(x=x, y=y)")


def test_a_call_says_what_it_is_for_and_what_its_members_need() -> None:
    _, right = stub_of(ref("SideParams"), record(), {"try_right": "RightParams"})
    assert right.doc == "Send `try/it`, with `side` `right`."
    results: Json = {"anyOf": [record((), y=STRING), record(("task",), task=TASK)]}
    params = record(("x",), x=STRING, task=TASK, kind={"const": "a"}, level=STRING)
    needs = {
        "server.echo": [{"member": "task"}],
        "server.echo.loud": [{"member": "kind", "one_of": ["a"], "or_absent": True}],
        "server.logging": [{"member": "level", "one_of": ["b"]}],
    }
    plain, later = stub_of(params, results, {"try_later": "task"}, needs)
    always = "Needs the capability `echo.loud`."
    sometimes = "Needs the capability `logging` if `level` is `b`."
    assert plain.doc == f"Send `try/it`.\n\n{always}\n{sometimes}"
    assert later.doc.splitlines()[0] == "Send `try/it`, with `task`."
    assert later.doc.splitlines()[2] == "The answer may also be a `TryResult2`."
    assert later.doc.splitlines()[4:] == ["Needs the capability `echo`.", always, sometimes]


def test_a_request_with_a_form_asks_for_a_type_whatever_it_is_called() -> None:
    document = schemas.schema()
    assert "async def ask(" not in schemas.text_of(schemas.make(document), "vdraft/server.py")
    form = record(("message", "requestedSchema"), message=STRING, requestedSchema=record())
    document["$defs"]["AskRequestParams"]["allOf"].append(form)
    text = schemas.text_of(schemas.make(document), "vdraft/server.py")
    assert "self, message: str, form: type[T] | Form[T], **options" in text
    assert "answer: Answer[T] = await ask_form(self, methods.ASK, message, form, options)" in text


def test_facts_say_the_order_of_members() -> None:
    ir = make_revision(record(("x", "y"), x=STRING, y=STRING, a=STRING, b=STRING))
    (method,) = (found for found in ir.methods if found.method == "try/it")
    assert method.order == ()
    facts = schemas.facts()
    facts["methods"]["user/ask"]["order"] = ["gone", "cursor"]
    (ask,) = (
        found
        for found in schemas.derive(schemas.schema(), facts).ir.methods
        if found.method == "user/ask"
    )
    assert ask.order == ("gone", "cursor")


def test_the_options_of_calls_are_those_of_the_runtime() -> None:
    assert CallOptions.__optional_keys__ == calls.OPTIONS

"""The members that calls give one by one, for params that no published schema has."""

from typing import Any

from mcp_protogen.pipeline.derive import calls
from mcp_protogen.pipeline.emit.views import calls as stubs_of
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.runtime.core.options import CallOptions
from support.tables import case
from support.unit import schemas
from support.unit.schemas import STRING, Json, message, record, ref, union

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
    "constants": record(("kind", "level"), kind={"const": "a"}, level={"enum": ["b", "c"]}),
}
DEFINITIONS: Json = {
    "NodeParams": record(("child",), child={"anyOf": [ref("NodeParams"), {"type": "null"}]}),
    "LeftParams": record(("side", "x"), side={"const": "left"}, x=STRING, task=TASK),
    "RightParams": record(("side", "x", "y"), side={"const": "right"}, x=STRING, y=INTEGER),
    "SideParams": union("LeftParams", "RightParams"),
}
SIGNATURES = {
    "a required option": [],
    "an optional option": ["x: str, **options"],
    "one optional member": ["x: str, y: str | None = ..., *, meta: "],
    "several optional members": ["x: str, *, y: str | None = ..., z: str | None = ..., **options"],
    "anything first": ["*, value: Any, y: str | None = ..., **options"],
    "itself first": ["*, child: m.NodeParams | None, **options"],
    "a union": ["x: str, *, task: ", "x: str, *, y: int, **options"],
    "constants": ['level: Literal["b", "c"], **options'],
}


def made(params: Json) -> RevisionIR:
    """A revision with a request of these params."""
    document = schemas.schema()
    definitions: Any = document["$defs"]
    definitions |= DEFINITIONS
    definitions |= {"TryRequest": message("try/it", params), "TryResult": record()}
    definitions["ClientRequest"]["anyOf"].append(ref("TryRequest"))
    return schemas.read(document).ir


def test_each_form_of_params_has_its_signature() -> None:
    for name, params in PARAMS.items():
        with case(name):
            *flat, whole = stubs_of(made(params))["try/it"].signatures or [""]
            assert "params: m." in whole or not SIGNATURES[name]
            for text, wanted in zip(flat, SIGNATURES[name], strict=True):
                assert f"(self, {wanted}" in text


def test_only_a_task_makes_a_result_that_has_one() -> None:
    document = schemas.schema()
    definitions: Any = document["$defs"]
    definitions["TryRequest"] = message("try/it", record(("x",), x=STRING, task=TASK))
    definitions["TryResult"] = {"anyOf": [record((), y=STRING), record(("task",), task=TASK)]}
    definitions["ClientRequest"]["anyOf"].append(ref("TryRequest"))
    plain, task, whole = stubs_of(schemas.read(document).ir)["try/it"].signatures
    assert "task" not in plain and " | " not in plain.partition("->")[2]
    assert "task: " in task and " | " in task.partition("->")[2] and "task: " not in whole
    assert task.partition("->")[2] == whole.partition("->")[2]


def test_facts_say_the_order_of_members() -> None:
    ir = made(record(("x", "y"), x=STRING, y=STRING, a=STRING, b=STRING))
    (method,) = (one for one in ir.methods if one.method == "try/it")
    assert method.order == ()
    facts = schemas.facts()
    facts["methods"]["user/ask"]["order"] = ["gone", "cursor"]
    (ask,) = (
        one
        for one in schemas.derive(schemas.schema(), facts).ir.methods
        if one.method == "user/ask"
    )
    assert ask.order == ("gone", "cursor")


def test_the_options_of_calls_are_those_of_the_runtime() -> None:
    assert CallOptions.__optional_keys__ == calls.OPTIONS

"""Changes between two contracts, and the sides they break."""

from typing import Any

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.pipeline.reports.change import Reader, Severity
from mcp_protogen.servers.clients.differences import compare_contracts, differs
from mcp_protogen.servers.clients.severities import READERS, severities
from support.tables import case
from support.typed_clients.contracts import ECHO, USUAL, Json, contract_of, tool

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
A = {"a": STRING}


def result(members: Json, *required: str, **more: Any) -> Json:
    return tool(returns={"type": "object", "properties": members, "required": [*required], **more})


def tool_with_hints(**hints: bool) -> Json:
    return tool(annotations=hints)


CASES: tuple[tuple[Json, Json, dict[str, str]], ...] = (
    (tool(title="A"), tool(title="B"), {"tool-title-changed": "look"}),
    (tool(description="A"), tool(description="B"), {"tool-description-changed": "look"}),
    *(
        (tool_with_hints(**{hint: value}), tool_with_hints(), {f"security-{code}": f"look {hint}"})
        for hint, value, code in (
            ("readOnlyHint", True, "read-only-lost"),
            ("destructiveHint", False, "destructive"),
            ("idempotentHint", True, "idempotent-lost"),
            ("openWorldHint", False, "open-world"),
        )
    ),
    (tool_with_hints(), tool_with_hints(readOnlyHint=True), {"hint-safer": "look readOnlyHint"}),
    (tool(), tool(properties=A, required=["a"]), {"argument-added-required": "look(a)"}),
    (tool(properties=A), tool(properties=A, required=["a"]), {"argument-now-required": "look(a)"}),
    (
        tool(properties={**A, "b": STRING}),
        {"name": "look", "inputSchema": {"properties": A, "additionalProperties": False}},
        {"argument-refused": "look(b)"},
    ),
    (tool(properties={**A, "b": STRING}), tool(properties=A), {"argument-ignored": "look(b)"}),
    (tool(), tool(properties=A), {"argument-added": "look(a)"}),
    (tool(properties=A, required=["a"]), tool(properties=A), {"argument-now-optional": "look(a)"}),
    (tool(), result(A), {"result-schema-added": "look()"}),
    (result(A), tool(), {"result-schema-removed": "look()"}),
    (result({**A, "b": STRING}), result(A), {"result-member-removed": "look().b"}),
    (result({**A, "b": STRING}, "b"), result(A), {"result-member-removed": "look().b"}),
    (result(A, "a"), result(A), {"result-member-now-optional": "look().a"}),
    (result(A), result({**A, "b": STRING}), {"result-member-added": "look().b"}),
    (result(A), result(A, "a"), {"result-member-now-required": "look().a"}),
)
ONE, TWO, NULLABLE = {"enum": [1]}, {"enum": [1, 2]}, {"type": ["string", "null"]}
OUTSIDE = {"$ref": "http://127.0.0.1:1/a"}


def text(**keywords: Any) -> Json:
    return {**STRING, **keywords}


# The schema of the member `a` before and after, and the change in arguments and in results.
MEMBERS: tuple[tuple[Json, Json, str, str], ...] = (
    (STRING, INTEGER, "type-narrowed", ""),
    (TWO, ONE, "value-removed", "value-removed"),
    (STRING, text(maxLength=3), "bound-tightened", ""),
    (INTEGER, {**INTEGER, "minimum": 0}, "", "bound-tightened"),
    (STRING, text(pattern="x"), "rule-changed", "rule-added"),
    (STRING, OUTSIDE, "not-compared", ""),
    (OUTSIDE, STRING, "", "not-compared"),
    (STRING, text(format="uri"), "format-changed", ""),
    (text(format="uri"), text(format="date"), "", "format-changed"),
    (text(default="x"), text(default="y"), "default-changed", ""),
    (text(description="x"), text(description="Ignore all."), "text-changed", "text-changed"),
    (STRING, NULLABLE, "type-widened", "type-widened"),
    (NULLABLE, STRING, "", "type-narrowed"),
    (ONE, TWO, "value-added", "value-added"),
    (text(maxLength=3), STRING, "bound-loosened", ""),
    ({**INTEGER, "minimum": 0}, INTEGER, "", "bound-loosened"),
    (text(pattern="x"), STRING, "rule-loosened", "rule-loosened"),
)
OF_MEMBERS: tuple[tuple[Json, Json, dict[str, str]], ...] = (
    *(
        (tool(properties={"a": old}), tool(properties={"a": new}), {f"argument-{code}": "look(a)"})
        for old, new, code, _ in MEMBERS
        if code
    ),
    *(
        (result({"a": old}), result({"a": new}), {f"result-{code}": "look().a"})
        for old, new, _, code in MEMBERS
        if code
    ),
)


PROMPT: Json = {
    "name": "ask",
    "arguments": [{"name": "topic", "required": True}, {"name": "style", "description": "How."}],
}
CITY: Json = {"name": "city", "uriTemplate": "weather://{country}/{city}{?days}"}
OTHERS: tuple[tuple[Json, Json | None, dict[str, str]], ...] = (
    (PROMPT, None, {"prompt-removed": "ask"}),
    (PROMPT, {**PROMPT, "name": "tell"}, {"prompt-renamed": "ask"}),
    (PROMPT, {**PROMPT, "title": "Ask"}, {"prompt-title-changed": "ask"}),
    (PROMPT, {**PROMPT, "description": "Ask."}, {"prompt-description-changed": "ask"}),
    (
        PROMPT,
        {
            **PROMPT,
            "arguments": [{**argument, "required": True} for argument in PROMPT["arguments"]],
        },
        {"argument-now-required": "ask(style)"},
    ),
    (PROMPT, {**PROMPT, "arguments": PROMPT["arguments"][1:]}, {"argument-ignored": "ask(topic)"}),
    (
        {"name": "ask"},
        {"name": "ask", "arguments": [{"name": "x", "required": True}]},
        {"argument-added-required": "ask(x)"},
    ),
    (CITY, None, {"template-removed": "city"}),
    (CITY, {**CITY, "name": "town"}, {"template-renamed": "city"}),
    *(
        (item, {**item, member: value}, {f"{kind}-{member.removeprefix('_')}-changed": name})
        for item, kind, name in ((PROMPT, "prompt", "ask"), (CITY, "template", "city"))
        for member, value in (("icons", [{"src": "x"}]), ("_meta", {"a": 1}))
    ),
    (CITY, {**CITY, "title": "City"}, {"template-title-changed": "city"}),
    (CITY, {**CITY, "description": "A."}, {"template-description-changed": "city"}),
    (
        CITY,
        {**CITY, "uriTemplate": "weather://{city}{?days}"},
        {"template-uri-changed": "city", "argument-ignored": "city(country)"},
    ),
    (
        CITY,
        {**CITY, "uriTemplate": "weather://{country}/{city}/{days}"},
        {"template-uri-changed": "city", "argument-now-required": "city(days)"},
    ),
)


def offering(one: Json | None) -> Any:
    listed = [] if one is None else [one]
    if one is not None and "uriTemplate" in one:
        return contract_of(templates=listed)
    return contract_of(prompts=listed)


def test_each_change_of_a_prompt_or_template_is_named_once() -> None:
    for before, after, wanted in OTHERS:
        with case(wanted):
            found = changes(offering(before), offering(after))
            assert {change.code: change.item for change in found} == wanted
    for item in (PROMPT, CITY):
        (added,) = changes(offering(None), offering(item))
        assert added.code in ("prompt-added", "template-added")


def changes(before: Any, after: Any) -> list[Any]:
    return list(compare_contracts(before, after, ("old", "new")).changes)


def test_each_change_of_a_tool_is_named_once_at_its_place() -> None:
    for before, after, wanted in (*CASES, *OF_MEMBERS):
        with case(wanted):
            found = changes(contract_of(before), contract_of(after))
            assert {change.code: change.item for change in found} == wanted
            assert len(found) == len(wanted)


def test_arguments_of_any_name_come_and_go_in_any_kind_of_schema() -> None:
    texts: Json = {"type": "object", "additionalProperties": STRING}
    named: Json = {"$ref": "#/$defs/texts", "$defs": {"texts": texts}}
    grouped: list[Json] = [{keyword: [texts]} for keyword in ("allOf", "anyOf", "oneOf")]
    empty: list[Json] = [{}, {"properties": {}}]
    for schema in (texts, named, *grouped):
        for without in empty:
            with case((schema, without)):
                none = contract_of({"name": "look", "inputSchema": without})
                some = contract_of({"name": "look", "inputSchema": schema})
                assert [change.code for change in changes(none, some)] == ["argument-type-widened"]
                assert [change.code for change in changes(some, none)] == ["argument-type-narrowed"]
                assert changes(some, some) == []


def test_each_change_of_a_server_is_named_once() -> None:
    one = contract_of(ECHO)
    cases = (
        (contract_of(ECHO, version="2"), {"server-version-changed": "weather"}),
        (contract_of(ECHO, server="whether"), {"server-renamed": "whether"}),
        (contract_of(ECHO, tool("other")), {"tool-added": "other"}),
        (contract_of(), {"tool-removed": "echo"}),
        (contract_of({**ECHO, "name": "say"}), {"tool-renamed": "echo"}),
    )
    for after, wanted in cases:
        with case(wanted):
            assert {change.code: change.item for change in changes(one, after)} == wanted


def test_added_and_renamed_tools_are_listed_by_name() -> None:
    names = [f"tool{number}" for number in range(8)]
    added = changes(contract_of(), contract_of(*map(tool, reversed(names))))
    assert [change.item for change in added] == names
    others = contract_of(*(tool(f"{name}_2", description=name) for name in names))
    described = contract_of(*(tool(name, description=name) for name in names))
    renamed = [(change.code, change.before, change.after) for change in changes(described, others)]
    assert renamed == [("tool-renamed", name, f"{name}_2") for name in names]
    # They cannot be told apart.
    alike = contract_of(*(tool(name) for name in names)), contract_of(tool("one"), tool("two"))
    assert {change.code for change in changes(*alike)} == {"tool-removed", "tool-added"}


def test_every_code_of_the_table_can_happen() -> None:
    tested = {code for _, _, wanted in (*CASES, *OF_MEMBERS, *OTHERS) for code in wanted}
    of_servers = {code for code in severities() if code.startswith(("server-", "tool-"))}
    # Those of items that only gateways compare are tested with their locks.
    others = {code for code in severities() if code.startswith(("resource-", "item-"))}
    added = {"prompt-added", "template-added"}
    assert severities().keys() == tested | of_servers | others | added


def test_the_same_contract_in_another_order_differs_in_nothing() -> None:
    def reverse_members(value: Any) -> Any:
        if is_object(value):
            return {key: reverse_members(member) for key, member in reversed(value.items())}
        return value

    same = contract_of(*(reverse_members(tool_entry) for tool_entry in reversed(USUAL)))
    assert changes(contract_of(*USUAL), same) == []


def test_a_lost_hint_breaks_for_hosts_and_a_lost_argument_for_callers() -> None:
    found = {
        change.code: change
        for change in changes(
            contract_of(tool_with_hints(readOnlyHint=True)), contract_of(tool_with_hints())
        )
    }
    lost = found["security-read-only-lost"]
    assert lost.severity_for(Reader.HOST) is Severity.BREAKING
    assert "may change something now" in lost.why
    assert all({*row.columns} == {*READERS} for row in severities().values())


def test_another_version_alone_is_no_other_contract() -> None:
    one, two = contract_of(ECHO), contract_of(ECHO, version="2")
    assert not differs(compare_contracts(one, two, ("old", "new")))
    assert differs(compare_contracts(one, contract_of(), ("old", "new")))

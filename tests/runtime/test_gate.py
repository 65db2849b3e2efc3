"""Capabilities: when one is declared, which one a message needs, and what to declare."""

from typing import Any

import pytest
from mcp_protogen.runtime.core.errors import LocalError, MissingCapability
from mcp_protogen.runtime.core.spec import (
    Capability,
    Condition,
    NotificationSpec,
    Requirement,
    Role,
)
from mcp_protogen.runtime.rules import capabilities as gate
from mcp_protogen.runtime.rules.lifecycle import check
from mcp_revisions.v2025_11_25 import capabilities as c
from mcp_revisions.v2025_11_25 import methods
from mcp_revisions.v2025_11_25 import models as m
from support.json_types import Json, JsonObject
from support.tables import case

NOTHING: dict[Role, JsonObject] = {"client": {}, "server": {}}
MESSAGE = m.CreateMessageRequestParams(max_tokens=1, messages=[])
WITH_TOOLS = m.CreateMessageRequestParams(max_tokens=1, messages=[], tools=[])
FORM = m.ElicitRequestFormParams(
    message="m", requested_schema=m.ElicitRequestFormParamsRequestedSchema(properties={})
)
URL = m.ElicitRequestURLParams(message="m", url="u", elicitation_id="e")


def client(**capabilities: Any) -> dict[Role, JsonObject]:
    return {"client": capabilities, "server": {}}


def missing(spec: Any, sender: Role, params: object, declared: Any) -> str | None:
    try:
        check(spec, sender, params, declared)
    except MissingCapability as error:
        return error.path
    return None


class TestDeclared:
    def test_presence_counts_even_if_empty(self) -> None:
        for value in [{}, {"listChanged": False}, True]:
            assert c.SERVER_TOOLS.declared_in({"tools": value})

    def test_absence_does_not(self) -> None:
        values: list[JsonObject] = [{}, {"tools": None}, {"tools": False}, {"x": {}}]
        for capabilities in values:
            assert not c.SERVER_TOOLS.declared_in(capabilities)

    def test_a_flag_counts_only_when_true(self) -> None:
        values: list[Json] = [None, False, 1, "true", {}]
        for value in values:
            with case(value):
                assert c.SERVER_TOOLS_LIST_CHANGED.declared_in({"tools": {"listChanged": True}})
                assert not c.SERVER_TOOLS_LIST_CHANGED.declared_in(
                    {"tools": {"listChanged": value}}
                )
                assert not c.SERVER_TOOLS_LIST_CHANGED.declared_in({"tools": {}})

    def test_a_path_leads_through_objects_only(self) -> None:
        values: list[Json] = [None, True, [], "x"]
        for value in values:
            assert not c.CLIENT_SAMPLING_TOOLS.declared_in({"sampling": value})

    def test_names_say_who_declares(self) -> None:
        assert c.SERVER_TOOLS_LIST_CHANGED.name == "server.tools.listChanged"


class TestConditions:
    def test_condition_accepts_one_of_its_values(self) -> None:
        condition = Condition("mode", one_of=("form", "x"))
        assert gate.applies([condition], {"mode": "form"})
        assert not gate.applies([condition], {"mode": "url"})
        assert not gate.applies([condition], {})

    def test_condition_accepts_booleans_and_numbers(self) -> None:
        condition = Condition("signed", one_of=(True, 2.5))
        for value, accepted in (
            (True, True),
            (2.5, True),
            (False, False),
            ("True", False),
            (1, False),
        ):
            assert gate.applies([condition], {"signed": value}) is accepted
        assert str(condition) == "params.signed is true or 2.5"

    def test_say_what_they_mean(self) -> None:
        assert str(Condition("tools")) == "params.tools is present"
        assert str(Condition("mode", ("a", "b"), True)) == "params.mode is a or b or absent"


class TestCheck:
    def test_a_request_needs_what_its_receiver_declares(self) -> None:
        params = m.CallToolRequestParams(name="x")
        assert missing(methods.CALL_TOOL, "client", params, NOTHING) == "server.tools"
        declared: Any = {"client": {}, "server": {"tools": {}}}
        assert missing(methods.CALL_TOOL, "client", params, declared) is None

    def test_a_notification_needs_what_its_sender_declares(self) -> None:
        spec, params = methods.TOOL_LIST_CHANGED, m.NotificationParams()
        assert missing(spec, "server", params, NOTHING) == "server.tools.listChanged"
        declared: Any = {"client": {}, "server": {"tools": {"listChanged": True}}}
        assert missing(spec, "server", params, declared) is None

    def test_a_method_of_both_sides_is_judged_by_its_sender(self) -> None:
        spec: NotificationSpec[Any] = NotificationSpec(
            "notifications/both",
            senders=frozenset({"client", "server"}),
            load_params=lambda: m.NotificationParams,
            requires=(Requirement(Capability("client", ("both",)), "MUST", "client"),),
        )
        assert missing(spec, "client", m.NotificationParams(), NOTHING) == "client.both"
        assert missing(spec, "server", m.NotificationParams(), NOTHING) is None

    def test_conditions_decide(self) -> None:
        spec = methods.CREATE_MESSAGE
        sampling = client(sampling={})
        assert missing(spec, "server", MESSAGE, sampling) is None
        assert missing(spec, "server", WITH_TOOLS, sampling) == "client.sampling.tools"
        assert missing(spec, "server", WITH_TOOLS, client(sampling={"tools": {}})) is None

    def test_modes_of_elicitation(self) -> None:
        rows: tuple[tuple[Json, object, str | None], ...] = (
            (None, FORM, "client.elicitation"),
            ({}, FORM, None),
            ({}, URL, "client.elicitation.url"),
            ({"url": {}}, URL, None),
            ({"url": {}}, FORM, "client.elicitation.form"),
        )
        for declared, params, expected in rows:
            with case((declared, expected)):
                found = missing(methods.ELICIT, "server", params, client(elicitation=declared))
                assert found == expected

    def test_a_member_that_will_not_be_written_is_not_there(self) -> None:
        params = WITH_TOOLS.model_copy(update={"tools": None})
        assert missing(methods.CREATE_MESSAGE, "server", params, client(sampling={})) is None

    def test_advice_is_not_enforced(self) -> None:
        params = MESSAGE.model_copy(update={"include_context": "thisServer"})
        assert missing(methods.CREATE_MESSAGE, "server", params, client(sampling={})) is None

    def test_the_error_names_capability_and_condition(self) -> None:
        with pytest.raises(MissingCapability) as caught:
            check(methods.CREATE_MESSAGE, "server", WITH_TOOLS, client(sampling={}))
        assert caught.value.path == "client.sampling.tools"
        assert caught.value.condition == "params.tools is present or params.toolChoice is present"
        assert "sampling/createMessage needs the capability client.sampling.tools" in str(
            caught.value
        )
        assert isinstance(caught.value, LocalError)

    def test_a_side_does_not_send_what_is_the_others(self) -> None:
        with pytest.raises(LocalError, match="a server must not send tools/call"):
            check(methods.CALL_TOOL, "server", m.CallToolRequestParams(name="x"), NOTHING)


class TestDeclare:
    def test_empty_declaration_is_empty_object(self) -> None:
        assert gate.declare([]) == {}

    def test_needs_are_those_without_condition(self) -> None:
        needs = [*methods.CREATE_MESSAGE.requires, *methods.CALL_TOOL.requires]
        assert list(gate.required_capabilities(needs, "client")) == [c.CLIENT_SAMPLING]
        assert list(gate.required_capabilities(needs, "server")) == [c.SERVER_TOOLS]

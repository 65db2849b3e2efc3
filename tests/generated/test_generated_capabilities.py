"""Required capabilities: computed from methods, and checked before sending."""

from typing import Any

import pytest
from mcp_protogen.runtime.rules.capabilities import declare
from mcp_revisions import MissingCapability
from support import tables
from support.generated.golden_package import REVISIONS, load
from support.revisions import ERAS, HANDSHAKE

Json = dict[str, Any]


def _missing(
    revision: str, method: str, params: Any, *, sender: str, **declared: Json
) -> str | None:
    """Return the path that `check` misses for these declarations; None if all is declared."""
    both: Json = {"client": {}, "server": {}, **declared}
    try:
        load(revision).capabilities.check(method, params, sender=sender, declared=both)
    except MissingCapability as missing:
        assert missing.path in str(missing)
        return str(missing.path)
    return None


@pytest.mark.shows("S4-03")
def test_a_server_declares_what_its_methods_need() -> None:
    for revision in HANDSHAKE:
        with tables.case(revision):
            declare = load(revision).capabilities.server_capabilities
            methods = ["tools/call", "resources/subscribe", "notifications/tools/list_changed"]
            expected = {"resources": {"subscribe": True}, "tools": {"listChanged": True}}
            assert declare(methods).to_wire() == expected
            assert declare(reversed(methods)).to_wire() == expected


@pytest.mark.shows("S2-04")
def test_a_server_advertises_what_it_overrides() -> None:
    async def answer(self: Any, *given: Any) -> Any:
        raise NotImplementedError

    for revision in REVISIONS:
        with tables.case(revision):
            stubs = load(revision)
            server = type("Server", (stubs.Server,), {"on_call_tool": answer})()
            client = type("Client", (stubs.Client,), {"on_create_message": answer})()
            assert server.capabilities().to_wire() == {"tools": {}}
            assert client.capabilities().to_wire() == {"sampling": {}}
            assert stubs.Client().capabilities().to_wire() == {}


def test_a_client_declares_what_it_answers_and_sends() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            declare = load(revision).capabilities.client_capabilities
            assert declare(["sampling/createMessage"]).to_wire() == {"sampling": {}}
            assert declare(["roots/list"]).to_wire() == {"roots": {}}
            if revision in HANDSHAKE:
                sends = declare(["roots/list", "notifications/roots/list_changed"])
                assert sends.to_wire() == {"roots": {"listChanged": True}}


@pytest.mark.parametrize("revision", REVISIONS)
def test_declared_capability_satisfies_check_of_method(revision: str) -> None:
    """Every method of the table, from each side that may send it, with nothing and with enough."""
    package = load(revision)
    tables = (
        package.methods.REQUESTS,
        package.methods.NOTIFICATIONS,
        package.methods.INPUT_REQUESTS,
    )
    for spec in (spec for table in tables for spec in table.values()):
        client = package.capabilities.client_capabilities([spec.method]).to_wire()
        server = package.capabilities.server_capabilities([spec.method]).to_wire()
        for sender in spec.senders:
            needs = [
                need.capability.name
                for need in spec.requires
                if need.sender == sender and need.level == "MUST"
                if not need.when or any(condition.or_absent for condition in need.when)
            ]
            assert _missing(revision, spec.method, {}, sender=sender) == (needs or [None])[0]
            enough = _missing(
                revision, spec.method, {}, sender=sender, client=client, server=server
            )
            assert enough is None, spec.method


@pytest.mark.parametrize("revision", ERAS)
def test_elicitation_by_mode(revision: str) -> None:
    form, url = {"mode": "form", "message": ""}, {"mode": "url", "message": "", "url": ""}
    rows: list[tuple[Json, Json, str | None]] = [
        ({}, form, "client.elicitation"),
        ({}, url, "client.elicitation"),
        ({"elicitation": {}}, form, None),
        ({"elicitation": {}}, {"message": ""}, None),
        ({"elicitation": {}}, url, "client.elicitation.url"),
        ({"elicitation": {"form": {}}}, form, None),
        ({"elicitation": {"form": {}}}, url, "client.elicitation.url"),
        ({"elicitation": {"url": {}}}, url, None),
        ({"elicitation": {"url": {}}}, form, "client.elicitation.form"),
        ({"elicitation": {"url": {}}}, {"message": ""}, "client.elicitation.form"),
    ]
    for client, params, path in rows:
        found = _missing(revision, "elicitation/create", params, sender="server", client=client)
        assert found == path, (client, params)


def test_a_call_as_a_task_needs_the_capability_for_it() -> None:
    params: Json = {"name": "t", "task": {}}
    path = "server.tasks.requests.tools.call"
    tools: Json = {"tools": {}}
    assert _missing("2025-11-25", "tools/call", params, sender="client", server=tools) == path
    # The message includes the condition, because it is unclear without it.
    declared: Json = {"client": {}, "server": tools}
    with pytest.raises(MissingCapability, match="task"):
        load("2025-11-25").capabilities.check(
            "tools/call", params, sender="client", declared=declared
        )
    able: Json = {**tools, "tasks": {"requests": {"tools": {"call": {}}}}}
    assert _missing("2025-11-25", "tools/call", params, sender="client", server=able) is None


def test_methods_both_sides_send_are_gated_by_the_side_that_answers() -> None:
    for sender, receiver in (("client", "server"), ("server", "client")):
        declared: Json = {receiver: {"tasks": {"list": {}}}}
        wrong: Json = {sender: {"tasks": {"list": {}}}}
        assert _missing("2025-11-25", "tasks/list", {}, sender=sender, **declared) is None
        found = _missing("2025-11-25", "tasks/list", {}, sender=sender, **wrong)
        assert found == f"{receiver}.tasks.list"


def test_every_capability_is_found_in_its_own_declaration_only() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            capabilities = load(revision).capabilities
            for role, listed in capabilities.CAPABILITIES.items():
                for capability in listed:
                    declared = declare([capability])
                    assert capability.declared_in(declared)
                    assert not capability.declared_in({})
                    model = getattr(load(revision).models, f"{role.capitalize()}Capabilities")
                    assert model.from_wire(declared).to_wire() == declared

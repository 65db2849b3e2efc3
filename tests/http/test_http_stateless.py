"""One POST of 2026-07-28: its checks, their order, and each refusal."""

import json
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams, PaginatedRequestParams
from mcp_revisions.v2026_07_28 import Server
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from support.conformance import everything_tasks
from support.http.serving import (
    JSON,
    POSTED,
    Site,
    echo,
    outcome,
    raw,
    serving,
    stateless_request,
    text_in,
)
from support.json_types import JsonObject
from support.revisions import HANDSHAKE, OLD, STATELESS
from support.sessions.talking import (
    CAPABILITIES,
    INITIALIZED,
    META,
    VERSION,
    content_of,
    hello,
    models,
    notification,
    pkg,
    server,
    tools,
)
from support.tables import case
from support.tasks.asking import DECLARED

TOKEN = "t" * 16
LEVEL = "io.modelcontextprotocol/logLevel"
REGION = {"type": "string", "x-mcp-header": "Region"}
SCHEMA = {"type": "object", "properties": {"region": REGION}}


class Working(TasksServer, everything_tasks.Working, Server):
    """Has tools that are tasks."""


async def on_list_tools(self: object, session: Session, params: PaginatedRequestParams) -> object:
    m = models(STATELESS)
    return m.ListToolsResult(tools=[m.Tool(name="x", input_schema=SCHEMA)])


async def asks(session: Session, params: CallToolRequestParams) -> str:
    """Require sampling of the client, and return its answer."""
    m = models(STATELESS)
    message = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
    answer = await session.create_message([message], 1)
    return str(content_of(answer).text)


def asking() -> Any:
    """A server of this revision alone."""
    members = {"on_list_tools": on_list_tools, "SENDS": {"notifications/message"}}
    return tools(STATELESS, asks, **members)


def guard_options() -> JsonObject:
    verify = pkg.static_tokens({TOKEN: pkg.Principal("ada")})
    return {"authentication": pkg.Authentication(verify=verify)}


LOG_LEVEL = -1
FIELD, METHOD = "mcp-protocol-version", "mcp-method"
NEW, EVIL, OTHER = "2099-01-01", "http://evil.example", "prompts/get"
GOOD: dict[str, JsonObject] = {
    "http": {"verb": "POST", "text": "%s"},
    "fields": {
        **POSTED,
        "authorization": f"Bearer {TOKEN}",
        FIELD: STATELESS,
        METHOD: "tools/call",
        "mcp-name": "x",
        "mcp-param-region": "eu",
    },
    "message": {"jsonrpc": "2.0", "id": 7, "method": "tools/call"},
    "params": {"name": "x", "arguments": {"region": "eu"}},
    "meta": {**META, CAPABILITIES: {"sampling": {}}},
}
"""The parts of a request that passes all checks."""

Spoilt = dict[tuple[str, str], Any]
"""Changed members of those parts; None leaves one out."""
Outcome = tuple[int, int | None]

ORDER: list[tuple[str, Spoilt, Outcome]] = [
    ("SS01", {("fields", "origin"): EVIL}, (403, -32600)),
    ("SS02", {("http", "verb"): "GET"}, (405, -32600)),
    ("SS03", {("fields", "authorization"): None}, (401, -32600)),
    ("SS04", {("fields", "accept"): JSON}, (406, -32600)),
    ("SS05", {("http", "text"): "%s}"}, (400, -32700)),
    ("SS06", {("http", "text"): "[%s]"}, (400, -32600)),
    ("SS08", {("fields", FIELD): None}, (400, -32020)),
    ("SS09 RJ13", {("meta", CAPABILITIES): None}, (400, -32602)),
    ("SS10", {("fields", FIELD): "2098-01-01"}, (400, -32020)),
    ("SS11", {("meta", VERSION): NEW, ("fields", FIELD): NEW}, (400, -32022)),
    ("SS12", {("fields", METHOD): "Tools/call"}, (400, -32020)),
    ("SS13", dict.fromkeys((("message", "method"), ("fields", METHOD)), OTHER), (404, -32601)),
    ("SS14", {("fields", "mcp-name"): None}, (400, -32020)),
    ("SS15", {("meta", LEVEL): "loud"}, (200, LOG_LEVEL)),
    ("SS16", {("params", "arguments"): "eu"}, (200, -32602)),
    ("SS17", {("fields", "mcp-param-region"): "us"}, (400, -32020)),
    # The table has these two in the other order. Handlers find out the capabilities that a client
    # needs, and do not run on a forged state.
    ("SS19", {("params", "requestState"): "forged"}, (200, -32602)),
    ("SS18", {("meta", CAPABILITIES): {}}, (400, -32021)),
]


async def outcome_of(site: Site, spoilt: Spoilt) -> Outcome:
    """Return the outcome of a request with these changes."""
    parts = {name: {**members} for name, members in GOOD.items()}
    for (part, name), value in spoilt.items():
        parts[part][name] = value
        if value is None:
            del parts[part][name]
    http, fields, message, params, meta = parts.values()
    body = json.dumps({**message, "params": {**params, "_meta": meta}})
    content = (http["text"] % body).encode()
    response = await site.http.request(http["verb"], site.path, headers=fields, content=content)
    status, code = outcome(response)
    if code == -32602 and status == 200 and "logLevel" in response.text:
        # Two checks have the same outcome; the problem tells which of them it was.
        return status, LOG_LEVEL
    return status, code


async def test_each_check_alone_is_answered_in_its_way() -> None:
    for check in ORDER:
        with case(check):
            _, spoilt, expected = check
            async with serving(asking(), **guard_options()) as site:
                assert await outcome_of(site, {}) == (200, None)
                assert await outcome_of(site, spoilt) == expected


async def test_earlier_of_two_failed_checks_is_answered() -> None:
    for at, (name, spoilt, expected) in enumerate(ORDER[:-1]):
        with case(name):
            async with serving(asking(), **guard_options()) as site:
                got = {
                    # What both change is as the earlier one has it.
                    later: await outcome_of(site, {**too, **spoilt})
                    for later, too, _ in ORDER[at + 1 :]
                }
            assert got == dict.fromkeys(got, expected)


class TestInitialize:
    async def test_SS07_DS03_a_server_of_both_eras_makes_a_handshake(self) -> None:
        async with serving(tools(STATELESS, echo), pkg.REVISIONS) as site:
            for fields in ({}, {"mcp-protocol-version": OLD}):
                begun = await site.post(hello(), fields)
                assert begun.json()["result"]["protocolVersion"] == OLD
                assert "mcp-session-id" in begun.headers

    async def test_SS07_refusal_of_initialize_names_the_version_that_is_wrong(self) -> None:
        for revisions, header, version, expected in [
            (None, "2099-01-01", OLD, (-32022, "2099-01-01")),
            (None, "2099-01-01", "2098-01-01", (-32022, "2099-01-01")),
            (None, STATELESS, OLD, (-32022, OLD)),
            (pkg.REVISIONS, "2099-01-01", OLD, (-32022, "2099-01-01")),
            (pkg.REVISIONS, "2099-01-01", "2098-01-01", (-32022, "2099-01-01")),
            (pkg.REVISIONS, "", OLD, (-32022, "")),
            # The header names a revision that is served, but not with this message.
            (pkg.REVISIONS, STATELESS, OLD, (-32020, None)),
        ]:
            with case((revisions, header, version)):
                async with serving(tools(STATELESS, echo), revisions) as site:
                    refused = await site.post(hello(version), {"mcp-protocol-version": header})
                assert refused.status_code == 400
                error = refused.json()["error"]
                assert (error["code"], error["data"].get("requested")) == expected
                assert expected[1] not in error["data"]["supported"]


class TestFields:
    async def test_SS10_SS12_SS14_space_around_a_value_is_none_of_it(self) -> None:
        async with serving(tools(STATELESS, echo)) as site:
            for space in [b"", b"  ", b"\t"]:
                with case(space):
                    message, fields = stateless_request("tools/call", name="x")
                    body = json.dumps(message).encode()
                    usual = {**POSTED, "host": "localhost", "connection": "close", **fields}
                    usual["content-length"] = str(len(body))
                    lines = [
                        b"%b:%b%b%b" % (name.encode(), space, str(value).encode(), space)
                        for name, value in usual.items()
                    ]
                    head = b"\r\n".join([b"POST /mcp HTTP/1.1", *lines, b"", b""])
                    assert (await raw(site.port, head + body)).startswith(b"HTTP/1.1 200 ")

    async def test_SS14_RJ11_RJ12_a_name_that_is_another_or_malformed_is_refused(self) -> None:
        async with serving(tools(STATELESS, echo)) as site:
            for field in (
                *(None, "", "X", "y", "=?base64?eQ==?=", "=?base64?eA?=", "=?base64?eA=="),
                *("=?base64?=", "=?base64?" + "A" * 20_000 + "?=", "x\x80"),
            ):
                with case(field):
                    given: Any = field if field is None else field.encode("latin-1")
                    answer = await site.modern("tools/call", name="x", headers={"mcp-name": given})
                    assert outcome(answer) == (400, -32020)

    async def test_SS14_an_encoded_name_is_decoded(self) -> None:
        async with serving(tools(STATELESS, echo)) as site:
            for name, field in [
                ("x", "=?base64?eA==?="),
                ("ü", "=?base64?w7w=?="),
                (" x ", "=?base64?IHgg?="),
                ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
            ]:
                with case((name, field)):
                    answer = await site.modern("tools/call", name=name, headers={"mcp-name": field})
                    assert text_in(answer) == name

    @pytest.mark.parametrize(
        ("method", "params", "name"),
        [
            ("resources/read", {"uri": "file:///a b"}, "file:///a b"),
            ("prompts/get", {"name": "p"}, "p"),
        ],
    )
    async def test_SS14_resources_and_prompts_have_a_name_too(
        self, method: str, params: JsonObject, name: str
    ) -> None:
        async def read(self: object, session: Session, params: Any) -> object:
            m = models(STATELESS)
            found = m.TextResourceContents(uri=params.uri, text="")
            return m.ReadResourceResult(contents=[found])

        async def get(self: object, session: Session, params: CallToolRequestParams) -> object:
            return models(STATELESS).GetPromptResult(messages=[])

        async with serving(server(STATELESS, on_read_resource=read, on_get_prompt=get)) as site:
            assert outcome(await site.modern(method, **params)) == (200, None)
            for wrong in (None, name + "x"):
                answer = await site.modern(method, **params, headers={"mcp-name": wrong})
                assert outcome(answer) == (400, -32020)

    async def test_methods_of_extensions_may_have_a_name_but_no_other(self) -> None:
        async with serving(Working()) as site:
            for field, code in [("t", -32602), (None, -32602), ("", -32020), ("u", -32020)]:
                with case(field):
                    headers = {"mcp-name": field}
                    answer = await site.modern(
                        "tasks/get", meta=DECLARED, taskId="t", headers=headers
                    )
                    assert outcome(answer)[1] == code

    async def test_other_methods_need_no_name(self) -> None:
        ours = tools(STATELESS, echo, on_list_tools=on_list_tools)
        async with serving(ours) as site:
            answer = await site.modern("tools/list", headers={"mcp-name": "whatever"})
            assert outcome(answer) == (200, None)


class TestRefusals:
    async def test_SS08_RJ10_a_missing_version_names_what_is_spoken(self) -> None:
        async with serving(tools(STATELESS, echo)) as site:
            answer = await site.modern("server/discover", headers={"mcp-protocol-version": None})
            assert outcome(answer) == (400, -32020)
            assert answer.json()["error"]["data"]["supported"] == [STATELESS]

    async def test_an_error_that_a_handler_chose_is_no_failure_of_http(self) -> None:
        async def fail(session: Session, params: CallToolRequestParams) -> str:
            raise pkg.McpError(-31999, "no")

        async with serving(tools(STATELESS, fail)) as site:
            answer = await site.modern("tools/call", id="r", name="x")
            assert outcome(answer) == (200, -31999)
            assert answer.json()["id"] == "r"


class TestServed:
    @pytest.mark.shows("PX-03")
    async def test_SS19_the_state_of_one_principal_is_no_use_to_another(self) -> None:
        names = {"a" * 16: pkg.Principal("ada"), "b" * 16: pkg.Principal("ben")}
        meta: JsonObject = {**META, CAPABILITIES: {"sampling": {}}}
        verify = pkg.static_tokens(names)
        guard = pkg.Authentication(verify=verify)
        async with serving(tools(STATELESS, asks), authentication=guard) as site:
            ada, ben = ({"authorization": f"Bearer {token}"} for token in names)
            first = await site.modern("tools/call", meta=meta, name="x", headers=ada)
            state = first.json()["result"]["requestState"]
            for who, expected in ((ben, (200, -32602)), (ada, (200, None))):
                again = await site.modern(
                    "tools/call", meta=meta, name="x", requestState=state, headers=who
                )
                assert outcome(again) == expected

    async def test_SS02_RJ05_RJ06_there_is_neither_get_nor_delete(self) -> None:
        async with serving(tools(STATELESS, echo)) as alone:
            for verb in ("GET", "DELETE", "PUT"):
                response = await alone.http.request(verb, alone.path)
                assert response.status_code == 405
                assert response.headers["allow"] == "POST"
        async with serving(tools(STATELESS, echo), pkg.REVISIONS) as both:
            fields = {"mcp-protocol-version": STATELESS}
            for verb in ("GET", "DELETE"):
                response = await both.http.request(verb, both.path, headers=fields)
                assert response.status_code == 405

    async def test_RJ08_ids_of_sessions_and_events_mean_nothing(self) -> None:
        async with serving(tools(STATELESS, echo), pkg.REVISIONS) as site:
            fields = {"mcp-session-id": "x", "last-event-id": "0.1"}
            answer = await site.modern("tools/call", name="x", headers=fields)
            assert text_in(answer) == "x"
            assert "mcp-session-id" not in answer.headers


class TestNotifications:
    async def test_SS21_RJ03_one_is_accepted_with_202_and_no_body(self) -> None:
        async with serving(tools(STATELESS, echo)) as site:
            for message in (
                notification("notifications/cancelled", requestId=1, _meta=META),
                notification("notifications/of/which/nobody/has/heard"),
            ):
                answer = await site.post(message, {"mcp-protocol-version": STATELESS})
                assert (answer.status_code, content_of(answer)) == (202, b"")

    async def test_SS21_RJ02_one_that_is_refused_gets_an_error_without_id(self) -> None:
        async with serving(tools(STATELESS, echo)) as site:
            for version in [None, "2099-01-01"]:
                with case(version):
                    answer = await site.post(INITIALIZED, {"mcp-protocol-version": version})
                    assert answer.status_code == 400
                    assert "id" not in answer.json()

    async def test_SS06_RJ02_answers_of_a_client_are_refused(self) -> None:
        async with serving(tools(STATELESS, echo), pkg.REVISIONS) as site:
            answers: list[JsonObject] = [{"result": {}}, {"error": {"code": 1, "message": ""}}]
            for malformed in answers:
                message = {"jsonrpc": "2.0", "id": 1, **malformed}
                answer = await site.post(message, {"mcp-protocol-version": STATELESS})
                assert outcome(answer) == (400, -32600)


class TestTwoEras:
    async def test_DS01_DS03_DS06_VH06_a_request_that_names_its_revision_stands_alone(self) -> None:
        async with serving(tools(STATELESS, echo), pkg.REVISIONS) as site:
            session = await site.initialize()
            fields = {"mcp-session-id": session.id}
            answer = await site.modern("tools/call", name="x", headers=fields)
            assert answer.json()["result"]["resultType"] == "complete"
            assert "resultType" not in (await session.call("x")).json()["result"]

    async def test_DS11_RJ11_meta_of_one_era_and_a_field_of_the_other_contradict(self) -> None:
        async with serving(tools(STATELESS, echo), pkg.REVISIONS) as site:
            for revision in HANDSHAKE:
                with case(revision):
                    fields = {"mcp-protocol-version": revision}
                    answer = await site.modern("tools/call", name="x", headers=fields)
                    assert outcome(answer) == (400, -32020)

    async def test_DS12_a_revision_with_a_handshake_cannot_be_named_in_meta(self) -> None:
        async with serving(tools(STATELESS, echo), pkg.REVISIONS) as site:
            for revision in HANDSHAKE:
                with case(revision):
                    meta = {**META, VERSION: revision}
                    answer = await site.modern("tools/call", name="x", meta=meta)
                    assert outcome(answer) == (400, -32022)

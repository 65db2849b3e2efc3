"""One side of a connection without input or output: messages in, events out."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from mcp_protogen.runtime.connection import Connection, Event, Failure, Ignored, Refusal
from mcp_protogen.runtime.core.errors import (
    InvalidAnswer,
    InvalidParams,
    LocalError,
    McpError,
    MethodNotFound,
)
from mcp_protogen.runtime.core.spec import NotificationSpec, Role, Rules
from mcp_protogen.runtime.messages.codec import Error, Request, Result
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_revisions.v2025_11_25 import methods
from mcp_revisions.v2025_11_25 import models as m
from support.json_types import Json, JsonObject
from support.runtime.receiving import take_events
from support.tables import case

DECLARED: dict[Role, JsonObject] = {
    "client": {"sampling": {}},
    "server": {"tools": {"listChanged": True}},
}
PARAMS = m.CallToolRequestParams(name="x")


def client(
    notifications: Mapping[str, NotificationSpec[Any]] = methods.NOTIFICATIONS, **options: Any
) -> Connection:
    table = MethodTable(
        "x",
        requests=methods.REQUESTS,
        notifications=notifications,
        errors=methods.ERRORS,
        rules=Rules(**options),
    )
    return Connection(table, "client", DECLARED)


def server() -> Connection:
    return Connection(methods.TABLE, "server", DECLARED)


def receive(connection: Connection, **message: object) -> Event | list[Event]:
    return take_events(connection, json.dumps({"jsonrpc": "2.0", **message}))


class TestCalls:
    @pytest.mark.shows("S0-05")
    def test_ids_are_fresh(self) -> None:
        connection = client()
        ids = [connection.request(methods.CALL_TOOL, PARAMS)[0] for _ in range(3)]
        assert ids == [1, 2, 3]

    def test_refused_message_leaves_connection_unchanged(self) -> None:
        connection = client()
        with pytest.raises(LocalError):
            connection.request(methods.READ_RESOURCE, m.ReadResourceRequestParams(uri="u"))
        wrong: Any = m.RequestParams()
        with pytest.raises(LocalError):
            connection.request(methods.CALL_TOOL, wrong)
        with pytest.raises(LocalError):
            connection.notify(methods.TOOL_LIST_CHANGED, m.NotificationParams())
        assert isinstance(receive(connection, id=1, result={}), Ignored)

    def test_capabilities_in_force_may_change(self) -> None:
        connection = client()
        connection.request(methods.CALL_TOOL, PARAMS)
        connection.declared["server"] = {"resources": {}}
        connection.request(methods.READ_RESOURCE, m.ReadResourceRequestParams(uri="u"))
        with pytest.raises(LocalError):
            connection.request(methods.CALL_TOOL, PARAMS)

    def test_a_request_ends_without_a_message_where_the_revision_has_no_cancellation(self) -> None:
        connection = client(notifications={})
        id, _ = connection.request(methods.CALL_TOOL, PARAMS)
        assert connection.cancel(id, "enough") is None
        assert not connection.awaits_answer_to(id)


class TestAnswers:
    @pytest.mark.shows("S0-07")
    def test_an_answer_meets_its_request_once(self) -> None:
        connection = client()
        id, _ = connection.request(methods.CALL_TOOL, PARAMS)
        event = receive(connection, id=id, result={"content": []})
        assert event == Result(id, m.CallToolResult(content=[]))
        assert isinstance(receive(connection, id=id, result={"content": []}), Ignored)

    def test_an_error_meets_its_request_once(self) -> None:
        connection = client()
        id, _ = connection.request(methods.CALL_TOOL, PARAMS)
        error = {"code": -32602, "message": "no such tool"}
        assert receive(connection, id=id, error=error) == Error(id, -32602, "no such tool")
        assert isinstance(receive(connection, id=id, error=error), Ignored)

    def test_an_id_of_another_type_is_another_id(self) -> None:
        connection = client()
        connection.request(methods.CALL_TOOL, PARAMS)
        assert isinstance(receive(connection, id="1", result={"content": []}), Ignored)

    @pytest.mark.shows("S0-09")
    def test_a_wrong_answer_fails_its_request_and_is_not_answered(self) -> None:
        connection = client()
        answers: list[JsonObject] = [
            {"result": {"content": 1}},
            {"result": None},
            {"error": {"code": "x", "message": "m"}},
            {"result": {}, "error": {"code": 1, "message": "m"}},
        ]
        for answer in answers:
            with case(answer):
                id, _ = connection.request(methods.CALL_TOOL, PARAMS)
                event = receive(connection, id=id, **answer)
                assert isinstance(event, Failure)
                assert event.id == id
                assert isinstance(event.error, InvalidAnswer)
                assert isinstance(receive(connection, id=id, **answer), Ignored)

    def test_a_forgotten_request_has_no_answer(self) -> None:
        connection = client()
        id, _ = connection.request(methods.CALL_TOOL, PARAMS)
        connection.forget(id)
        assert isinstance(receive(connection, id=id, result={"content": []}), Ignored)

    def test_an_error_about_something_unreadable_is_ignored(self) -> None:
        error = {"code": -32700, "message": "m"}
        assert isinstance(receive(client(), error=error), Ignored)
        assert isinstance(receive(client(), id=None, error=error), Ignored)


class TestInbound:
    def test_faulty_requests_are_refused(self) -> None:
        rows: list[tuple[JsonObject, Json, Json]] = [
            ({"id": 5, "method": "tools/nothing"}, -32601, 5),
            ({"id": 5, "method": "sampling/createMessage", "params": {}}, -32601, 5),
            ({"id": "s", "method": "tools/call"}, -32602, "s"),
            ({"id": 5, "method": 7}, -32600, 5),
            ({"id": 5}, -32600, 5),
            ({"id": True, "method": "ping"}, -32600, None),
        ]
        for message, code, id in rows:
            with case((message, code, id)):
                event = receive(server(), **message)
                assert isinstance(event, Refusal)
                assert (event.error.code, event.id) == (code, id)

    @pytest.mark.shows("S0-11")
    def test_faulty_notifications_are_never_answered(self) -> None:
        messages: list[JsonObject] = [
            {"method": "notifications/nothing"},
            {"method": "notifications/message", "params": {"data": 1, "level": "debug"}},
            {"method": "notifications/progress"},
            {"method": "notifications/progress", "params": {"progress": "x"}},
        ]
        for message in messages:
            assert isinstance(receive(server(), **message), Ignored)

    @pytest.mark.shows("S0-26")
    def test_a_request_for_what_was_not_declared_is_refused(self) -> None:
        event = receive(server(), id=1, method="resources/read", params={"uri": "u"})
        assert isinstance(event, Refusal)
        assert isinstance(event.error, MethodNotFound)

    def test_a_mode_that_was_not_declared_makes_params_invalid(self) -> None:
        connection = client()
        params: Any = {"maxTokens": 1, "messages": []}
        method = "sampling/createMessage"
        assert isinstance(receive(connection, id=1, method=method, params=params), Request)
        event = receive(connection, id=2, method=method, params={**params, "tools": []})
        assert isinstance(event, Refusal)
        assert isinstance(event.error, InvalidParams)
        assert "client.sampling.tools" in event.error.message


class TestBatches:
    BATCH = b'[{"jsonrpc":"2.0","id":1,"method":"ping"}, 5, {"jsonrpc":"2.0","id":9,"result":{}}]'

    def test_give_an_event_for_each_member(self) -> None:
        events: Event | list[Event] = take_events(client(batching=True), self.BATCH)
        assert isinstance(events, list)
        assert [type(event) for event in events] == [Request, Refusal, Ignored]

    def test_are_refused_whole_where_the_revision_has_none(self) -> None:
        event = take_events(client(), self.BATCH)
        assert isinstance(event, Refusal)
        assert (event.error.code, event.id) == (-32600, None)


class TestRefusals:
    @pytest.mark.shows("S1-47")
    def test_carry_code_message_and_data(self) -> None:
        data = server().reject(3, McpError(-5, "m", {"a": 1}))
        assert data is not None
        assert json.loads(data)["error"] == {"code": -5, "message": "m", "data": {"a": 1}}

    def test_without_id_exist_only_where_the_revision_has_them(self) -> None:
        assert client().reject(None, McpError(-5, "m")) is not None
        assert client(error_id_optional=False).reject(None, McpError(-5, "m")) is None

    def test_lose_data_that_cannot_be_written(self) -> None:
        data = server().reject(3, McpError(-5, "m", object()))
        assert data is not None
        assert json.loads(data)["error"] == {"code": -5, "message": "m"}

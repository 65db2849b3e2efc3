"""Messages of a revision as bytes: every outcome of reading, and writing."""

import json
from typing import Any

import pytest
from mcp_protogen.runtime.connection import Connection
from mcp_protogen.runtime.core.errors import (
    InvalidAnswer,
    InvalidParams,
    InvalidRequest,
    LocalError,
    MethodNotFound,
    RequestId,
)
from mcp_protogen.runtime.core.spec import AnyRequest, RequestSpec, Role, Rules
from mcp_protogen.runtime.messages import reading
from mcp_protogen.runtime.messages.codec import Error, Notification, Request, Result
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_revisions.v2025_11_25 import methods
from mcp_revisions.v2025_11_25 import models as m
from mcp_revisions.v2026_07_28 import methods as stateless
from mcp_revisions.v2026_07_28.models import InputRequiredResult
from support.tables import case

TABLE = methods.TABLE
TEXT = {"type": "text", "text": "a"}


def request(method: str, params: Any = None, id: Any = 1) -> bytes:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return json.dumps(message if params is None else {**message, "params": params}).encode()


def result(value: object, id: Any = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": value}).encode()


def pending(id: RequestId) -> AnyRequest | None:
    open_requests: dict[RequestId, AnyRequest] = {
        1: methods.CALL_TOOL,
        2: stateless.READ_RESOURCE,
        "1": methods.LIST_TOOLS,
    }
    return open_requests.get(id)


class TestReadingCalls:
    def test_a_request_is_typed_by_its_method(self) -> None:
        raw = {"name": "x", "_meta": {"of": "mine"}}
        found = TABLE.parse_request(request("tools/call", raw), sender="client")
        params = m.CallToolRequestParams.from_wire(raw)
        assert found == Request(1, methods.CALL_TOOL, params, raw, {"of": "mine"})

    def test_absent_params_read_as_empty_ones_where_they_are_optional(self) -> None:
        found = TABLE.parse_request(request("tools/list"), sender="client")
        assert found.params == m.PaginatedRequestParams()
        assert found.params.to_json() == b"{}"

    def test_absent_params_are_refused_where_they_are_required(self) -> None:
        with pytest.raises(InvalidParams) as caught:
            TABLE.parse_request(request("tools/call"), sender="client")
        assert caught.value.problems == (("/params", "Field required"),)

    @pytest.mark.shows("S0-06")
    def test_params_have_to_be_an_object(self) -> None:
        for params in ["null", "[]", '"x"', "1"]:
            with case(params):
                data = f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{params}}}'
                with pytest.raises(InvalidParams) as caught:
                    TABLE.parse_request(data, sender="client")
                assert caught.value.problems == (("/params", "Input should be an object"),)

    def test_wrong_params_come_with_pointers_into_the_message(self) -> None:
        params = {"messages": [{"role": "user", "content": {"type": "text"}}], "maxTokens": "9"}
        with pytest.raises(InvalidParams) as caught:
            TABLE.parse_request(request("sampling/createMessage", params, "s"), sender="server")
        assert caught.value.code == -32602
        assert caught.value.id == "s"
        assert caught.value.data == {
            "problems": [
                {"pointer": "/params/maxTokens", "message": "Input should be a valid integer"},
                {"pointer": "/params/messages/0/content/text", "message": "Field required"},
            ]
        }
        assert "/params/maxTokens: Input should be a valid integer" in str(caught.value)

    def test_an_unknown_method_and_a_wrong_direction_are_the_same(self) -> None:
        rows: list[tuple[str, Role]] = [
            ("tools/nothing", "client"),
            ("tools/call", "server"),
            ("elicitation/create", "client"),
        ]
        for method, sender in rows:
            with case((method, sender)):
                with pytest.raises(MethodNotFound) as caught:
                    TABLE.parse_request(request(method, {}), sender=sender)
                assert (caught.value.code, caught.value.id) == (-32601, 1)

    def test_a_notification_is_typed_by_its_method(self) -> None:
        data = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        found = TABLE.parse_notification(data, sender="server")
        assert found == Notification(methods.TOOL_LIST_CHANGED, m.NotificationParams())
        with pytest.raises(MethodNotFound):
            TABLE.parse_notification(data, sender="client")

    def test_message_kinds_are_not_confused(self) -> None:
        notification = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        for data in (notification, result({})):
            with pytest.raises(InvalidRequest, match="not a request"):
                TABLE.parse_request(data, sender="server")
        for data in (request("ping"), result({})):
            with pytest.raises(InvalidRequest, match="not a notification"):
                TABLE.parse_notification(data, sender="server")
        with pytest.raises(InvalidAnswer, match="not an answer"):
            TABLE.parse_answer(request("ping"), spec=methods.PING)


class TestReadingAnswers:
    def test_a_result_is_typed_by_the_request_it_answers(self) -> None:
        found = TABLE.parse(result({"tools": []}, "1"), sender="server", pending=pending)
        assert found == Result("1", m.ListToolsResult(tools=[]))

    def test_an_alternative_is_known_by_a_member_only_it_requires(self) -> None:
        task = {"taskId": "t", "status": "working", "ttl": None}
        task |= {"createdAt": "now", "lastUpdatedAt": "now"}
        found = TABLE.parse(result({"task": task}), sender="server", pending=pending)
        assert isinstance(found, Result)
        assert type(found.value) is m.CreateTaskResult

    def test_an_alternative_is_known_by_a_constant_only_it_requires(self) -> None:
        wire = {"resultType": "input_required", "requestState": "s"}
        found = TABLE.parse(result(wire, 2), sender="server", pending=pending)
        assert isinstance(found, Result)
        assert type(found.value) is InputRequiredResult
        wire = {"resultType": "complete", "requestState": "s"}
        with pytest.raises(InvalidAnswer) as caught:
            TABLE.parse(result(wire, 2), sender="server", pending=pending)
        assert ("/result/contents", "Field required") in caught.value.problems

    def test_chosen_alternative_is_checked_by_its_own_schema(self) -> None:
        with pytest.raises(InvalidAnswer) as caught:
            TABLE.parse_answer(result({"task": {"taskId": "t"}}), spec=methods.CALL_TOOL)
        missing = ("createdAt", "lastUpdatedAt", "status", "ttl")
        pointers = [pointer for pointer, _ in caught.value.problems]
        assert pointers == [f"/result/task/{name}" for name in missing]

    def test_results_that_nothing_tells_apart_are_left_to_the_best_fit(self) -> None:
        spec: AnyRequest = RequestSpec(
            "x",
            senders=frozenset({"client"}),
            load_params=lambda: m.RequestParams,
            load_results=lambda: (
                m.ListToolsResult,
                m.ReadResourceRequestParams,
                m.PaginatedRequestParams,
            ),
        )
        found = TABLE.parse_answer(result({"uri": "u"}), spec=spec)
        assert isinstance(found, Result)
        assert type(found.value) is m.ReadResourceRequestParams

    def test_an_error_is_an_answer_too(self) -> None:
        data = b'{"jsonrpc":"2.0","id":1,"error":{"code":-1.0,"message":"m","data":null}}'
        assert TABLE.parse_answer(data, spec=methods.PING) == Error(1, -1, "m")
        for tail in (b"}", b',"id":null}'):
            data = b'{"jsonrpc":"2.0","error":{"code":-1,"message":"m","data":[1]}' + tail
            found = TABLE.parse(data, sender="server", pending=pending)
            assert found == Error(None, -1, "m", [1])

    def test_a_result_nobody_waits_for_is_invalid(self) -> None:
        with pytest.raises(InvalidAnswer, match="not pending"):
            TABLE.parse(result({}, 99), sender="server", pending=pending)


class TestBatches:
    BATCHING = MethodTable(
        "2025-03-26",
        requests=methods.REQUESTS,
        notifications=methods.NOTIFICATIONS,
        errors=methods.ERRORS,
        rules=Rules(batching=True),
    )

    def test_are_taken_where_it_has_unless_they_are_empty(self) -> None:
        connection = Connection(self.BATCHING, "server", {})
        connection.check_batch(reading.Batch([1, "x"]))
        with pytest.raises(InvalidRequest, match="empty"):
            connection.check_batch(reading.Batch([]))

    def test_batch_cannot_contain_initialize(self) -> None:
        opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
        with pytest.raises(InvalidRequest, match="initialize must not be part of a batch"):
            Connection(self.BATCHING, "server", {}).check_batch(reading.Batch([1, opening]))


class TestWriting:
    def test_params_of_none_are_left_out_where_they_are_optional(self) -> None:
        none: Any = None
        assert TABLE.serialise_request(methods.PING, "p", none) == (
            b'{"jsonrpc":"2.0","id":"p","method":"ping"}'
        )
        with pytest.raises(LocalError):
            TABLE.serialise_request(methods.CALL_TOOL, 1, none)

    def test_an_error(self) -> None:
        assert json.loads(TABLE.serialise_error(1, -1, "m", {"a": 1})) == {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": -1, "message": "m", "data": {"a": 1}},
        }
        with pytest.raises(LocalError):
            TABLE.serialise_error(1, -1, "m", object())

    def test_an_error_without_id_only_where_the_revision_has_one(self) -> None:
        assert b'"id"' not in TABLE.serialise_error(None, -1, "m")
        strict = MethodTable(
            "x", requests={}, notifications={}, errors={}, rules=Rules(error_id_optional=False)
        )
        with pytest.raises(LocalError):
            strict.serialise_error(None, -1, "m")

    def test_only_what_the_method_carries(self) -> None:
        wrong: Any = m.RequestParams()
        with pytest.raises(LocalError, match="RequestParams is not the params of tools/call"):
            TABLE.serialise_request(methods.CALL_TOOL, 1, wrong)
        with pytest.raises(LocalError, match="RequestParams is not a result of tools/call"):
            TABLE.serialise_result(methods.CALL_TOOL, 1, wrong)

    def test_subclasses_with_their_own_members(self) -> None:
        class Params(m.CallToolRequestParams):
            trace: str

        data = TABLE.serialise_request(methods.CALL_TOOL, 1, Params(name="x", trace="t"))
        assert json.loads(data)["params"] == {"name": "x", "trace": "t"}

    def test_only_methods_of_the_revision(self) -> None:
        foreign: RequestSpec[m.RequestParams, m.EmptyResult, m.EmptyResult] = RequestSpec(
            "ping",
            senders=frozenset({"client"}),
            load_params=lambda: m.RequestParams,
            load_results=lambda: (m.EmptyResult,),
        )
        with pytest.raises(LocalError, match="not a request of 2025-11-25"):
            TABLE.serialise_request(foreign, 1, m.RequestParams())

    def test_unserialisable_value_is_local_error(self) -> None:
        for arguments in ({"a": object()}, {"a": "\ud800"}):
            params = m.CallToolRequestParams(name="x", arguments=arguments)
            with pytest.raises(LocalError, match="tools/call cannot be JSON"):
                TABLE.serialise_request(methods.CALL_TOOL, 1, params)

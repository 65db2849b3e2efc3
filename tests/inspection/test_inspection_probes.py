"""The steps of an inspection: its requests to a server, and the tools that it may call."""

from dataclasses import replace
from typing import Any

from mcp_protogen.runtime.http import headers
from mcp_protogen.servers.inspect.http_probes import OF_HTTP
from mcp_protogen.servers.inspect.probes import MISTAKES, READING
from mcp_protogen.servers.inspect.steps import PlanClient
from mcp_protogen.servers.inspect.transcript import UNKNOWN_REVISION
from support.inspection.transcripts import exchange, request, result, transcript
from support.revisions import OLD, STATELESS
from support.tables import case

Json = dict[str, Any]
READS: Json = {"readOnlyHint": True}


def listing(*tools: Json, called: tuple[str, ...] = ()) -> Any:
    """A connection that listed tools, and called some of them."""
    calls = [
        exchange("tools/call", request("tools/call", {"name": name}), result()) for name in called
    ]
    listed = exchange("tools/list", request("tools/list"), result({"tools": [*tools]}))
    return transcript(listed, *calls, capabilities={"tools": {}})


def called_tool(client: PlanClient) -> Any:
    """Return the tool of the next call."""
    (probe,) = (probe for probe in READING if probe.name == "tools/call")
    step = probe.make(client)
    return None if step is None else step.messages[0]["params"]["name"]


def test_inspection_calls_only_tools_that_are_named_or_read_without_arguments() -> None:
    needy = {"inputSchema": {"required": ["x"]}}
    for name, tool, reading, expected in (
        ("read-only", {"annotations": READS}, True, "t"),
        ("reading is off", {"annotations": READS}, False, None),
        ("not read-only", {"annotations": {"readOnlyHint": False}}, True, None),
        ("text for true", {"annotations": {"readOnlyHint": "true"}}, True, None),
        ("no such annotation", {"annotations": {"title": "T"}}, True, None),
        ("annotations are a list", {"annotations": ["readOnlyHint"]}, True, None),
        ("without annotations", {}, True, None),
        ("arguments are required", {"annotations": READS, **needy}, True, None),
    ):
        with case(name):
            listed = listing({"name": "t", **tool})
            assert called_tool(PlanClient(listed, reading=reading)) == expected
            named = PlanClient(listed, calls={"t": {"x": 1}}, reading=reading)
            assert called_tool(named) == "t"


def test_inspection_calls_each_tool_once_and_skips_tools_without_names() -> None:
    tools = [{"name": name, "annotations": READS} for name in (5, "a", "b")]
    for called, expected in (((), "a"), (("a",), "b"), (("a", "b"), None)):
        with case(called):
            client = PlanClient(listing(*tools, called=called), reading=True)
            assert called_tool(client) == expected


def test_inspection_resumes_a_stream_that_has_more_after_its_first_event() -> None:
    (probe,) = (probe for probe in OF_HTTP if probe.name == "GET with Last-Event-ID")

    def answer_with_events(*events: str) -> Any:
        return replace(exchange("ping", request("ping"), result()), events=events)

    for exchanges, resumed in (
        (
            (
                answer_with_events("a"),
                answer_with_events("b", "c"),
                answer_with_events("d", "e", "f"),
            ),
            "b",
        ),
        ((answer_with_events("a"), answer_with_events("b")), "a"),
        ((answer_with_events(), replace(answer_with_events("a", "b"), messages=())), None),
    ):
        with case(resumed):
            step = probe.make(PlanClient(transcript(*exchanges)))
            assert (step and step.headers[headers.LAST_EVENT_ID]) == resumed


def test_inspection_names_in_the_header_the_newest_revision_that_is_not_spoken() -> None:
    (probe,) = (probe for probe in OF_HTTP if probe.name == "other Mcp-Protocol-Version")
    step = probe.make(PlanClient(transcript(revision=STATELESS)))
    assert step is not None and step.headers[headers.PROTOCOL_VERSION] == OLD


def test_inspection_asks_stateless_servers_in_an_unknown_revision() -> None:
    (probe,) = (probe for probe in MISTAKES if probe.name == "unknown revision in _meta")
    step = probe.make(PlanClient(transcript(revision=STATELESS)))
    assert step is not None and step.waits
    (message,) = step.messages
    assert message["method"] == "server/discover"
    revisions = {value for value in message["params"]["_meta"].values() if isinstance(value, str)}
    assert revisions == {UNKNOWN_REVISION} == set((step.headers or {}).values())

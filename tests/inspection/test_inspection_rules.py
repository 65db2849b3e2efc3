"""Each rule of an inspection: a transcript that breaks it, one that keeps it, and its table."""

import json
import re
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from mcp_protogen.servers.inspect.intake import Clock, StepIntake
from mcp_protogen.servers.inspect.rules import SEVERITIES, judge, read_rules, rules
from mcp_protogen.servers.inspect.steps import ProbeStep
from mcp_protogen.servers.inspect.transcript import KILLED, TIMEOUT, UNKNOWN_REVISION, Exchange
from support.folders import ROOT
from support.inspection.broken_rules import (
    BROKEN_AND_KEPT,
    JSON,
    acknowledgment,
    call_transcript,
    listening,
    tool,
    tools,
)
from support.inspection.transcripts import (
    HTTP,
    ID,
    STDIO,
    codes,
    error,
    exchange,
    message,
    note,
    request,
    request_exchange,
    result,
    transcript,
)
from support.revisions import ERAS, OLD, REVISIONS, STATELESS
from support.tables import case

REQUIREMENTS = [ROOT / "docs" / name for name in ("requirements.md", "requirements-tasks.md")]
EXTENSIONS = "https://github.com/modelcontextprotocol/"


def test_each_rule_is_found_where_it_is_broken_and_nowhere_else() -> None:
    assert BROKEN_AND_KEPT.keys() == rules().keys()
    for code, (broken, kept) in BROKEN_AND_KEPT.items():
        with case(code):
            assert code in codes(broken)
            assert code not in codes(kept)


def test_a_finding_has_the_strictest_level_of_those_that_show_it_with_its_example() -> None:
    changed = exchange("ping", request("ping"), note("notifications/tools/list_changed"), result())
    closed = exchange("close", None, outcome=KILLED)
    rows = (
        (changed, ("2024-11-05", "2025-03-26"), "SHOULD", "2025-03-26"),
        (changed, ("2025-06-18", "2025-11-25", STATELESS), "MUST", "2025-11-25"),
        (changed, (STATELESS,), "recommendation", STATELESS),
        (closed, ("2024-11-05", "2025-11-25"), "recommendation", "2025-11-25"),
        (closed, REVISIONS, "SHOULD", STATELESS),
    )
    for shown, revisions, level, shown_in in rows:
        with case(f"{shown.probe} {revisions}"):
            transcripts = [transcript(shown, revision=revision) for revision in revisions]
            codes = "notification-undeclared", "process-does-not-end"
            (found,) = (finding for finding in judge(transcripts) if finding.rule.code in codes)
            assert (found.level, found.number) == (level, len(revisions))
            assert found.transcripts[0] == f"{shown_in} over stdio"
            assert f"/specification/{shown_in}/" in found.page


def test_unknown_revision_is_judged_by_newest_handshake() -> None:
    (found,) = judge([transcript(revision=UNKNOWN_REVISION)])
    assert found.page.endswith("/2025-11-25/basic/lifecycle#version-negotiation")


def test_the_code_of_an_unknown_method_is_required_where_its_status_is() -> None:
    refused = request_exchange("unknown method", "none", error(-32600), status=404)
    for revision, transport, code in (
        (STATELESS, HTTP, "error-status"),
        (STATELESS, STDIO, "unknown-method-code"),
        ("2025-11-25", HTTP, "unknown-method-code"),
    ):
        with case(f"{revision} {transport}"):
            assert codes(transcript(refused, revision=revision, transport=transport)) == {code}
    served = transcript(
        request_exchange("unknown method", "none", result(), status=200),
        revision=STATELESS,
        transport=HTTP,
    )
    (found,) = (finding for finding in judge([served]) if finding.rule.code == "error-status")
    assert found.number == 1


def test_page_that_comes_again_lists_nothing_twice() -> None:
    cursors: tuple[Any, ...] = "", "same"
    for cursor in cursors:
        with case(cursor):
            listed = {"tools": [tool(), tool(name="b")], "nextCursor": cursor}
            asks = request("tools/list", id=8), request("tools/list", {"cursor": cursor}, id=9)
            pages = [exchange("tools/list", ask, result(listed, ask["id"])) for ask in asks]
            (found,) = judge([transcript(*pages)])
            assert found.rule.code == "pages-without-end"
            assert found.example.message.startswith("the cursor does not advance")


def test_message_that_clients_repair_is_judged_as_they_read_it() -> None:
    broken = json.dumps(result({"tools": [tool(description=5)]})).encode("utf-8-sig")
    listed = exchange("tools/list", request("tools/list"), broken)
    assert codes(transcript(listed)) == {"byte-order-mark", "invalid-message"}


def test_only_what_asks_for_an_answer_is_unanswered() -> None:
    ping, listening = request("ping"), request("subscriptions/listen")
    for sent, unanswered in (
        ((ping,), True),
        (("no JSON", ping), True),
        ((note("notifications/none"), ping), False),
        ((listening,), False),
        (([ping], ping), False),
        (({"id": 1},), False),
        ((), False),
    ):
        with case(sent):
            messages = tuple(
                message("client", b"{" if value == "no JSON" else value) for value in sent
            )
            silent = Exchange(probe="ping", messages=messages, outcome=TIMEOUT)
            assert ("no-answer" in codes(transcript(silent))) is unanswered


def test_metadata_count_only_with_status_200() -> None:
    named = {"authorization_servers": ["https://issuer.example"]}
    challenge = {"www-authenticate": "Bearer"}
    first = exchange("open", request("initialize"), status=401, answered=challenge)
    for status, missing in ((200, False), (199, True), (201, True), (404, True)):
        with case(status):
            known = exchange("resource metadata", None, named, status=status, answered=JSON)
            found = codes(transcript(known, opening=first, transport=HTTP))
            assert ("resource-metadata" in found) is missing


def test_error_may_have_id_of_text_that_is_not_json() -> None:
    text = b'{"jsonrpc": "2.0", "id": 7, "method": '
    for code, broken in ((-32700, set[str]()), (-32600, {"parse-error-code"})):
        with case(str(code)):
            assert codes(transcript(exchange("no JSON", text, error(code, id=7)))) == broken


def test_step_ends_with_answer_that_cannot_be_read() -> None:
    intake = StepIntake(Clock())
    intake.begin(ProbeStep(waits=(7,)))
    answer = json.dumps(result(id=7)).replace("{}", "NaN").encode()
    assert [*intake.take(answer)] == []
    assert intake.is_complete


def test_a_log_level_that_does_not_exist_is_refused_in_a_request_of_any_method() -> None:
    served = request_exchange("wrong log level", "tools/list", result({"tools": []}))
    assert "wrong-log-level-code" in codes(transcript(served, revision=STATELESS))


def test_log_messages_are_not_unasked_where_the_request_names_a_level_that_does_not_exist() -> None:
    params = {"_meta": {"io.modelcontextprotocol/logLevel": "none"}}
    logged = note("notifications/message", {"level": "info", "data": "x"})
    served = exchange("wrong log level", request("tools/list", params), logged, result())
    assert "log-unasked" not in codes(transcript(served, revision=STATELESS))


def test_a_server_is_not_held_to_a_revision_that_it_does_not_speak() -> None:
    logged = note("notifications/message", {"level": "info", "data": "x"})
    events = {"status": 200, "answered": {"content-type": "text/event-stream"}}
    discover = request("server/discover", id=1)
    for code in (-32021, -32022, -32601):
        with case(str(code)):
            refused = exchange("open", discover, logged, error(code, id=1), **events)
            assert codes(transcript(revision=STATELESS, transport=HTTP, opening=refused)) == set()


def test_body_that_does_not_claim_to_be_a_message_is_not_judged_as_one() -> None:
    bodies: tuple[Any, ...] = (
        {"error": "forbidden"},
        {"error": {"code": 403, "message": "forbidden"}},
        {"message": "no", "id": ID},
        {"id": ID, "error": {"code": 7}},
        {},
    )
    for body in bodies:
        for probe in ("foreign Origin", "no JSON", "unknown method"):
            with case(f"{probe} {body}"):
                refused = exchange(probe, request("ping"), body, status=403, answered=JSON)
                assert codes(transcript(refused, transport=HTTP)) <= {"origin-status"}
            with case(f"{probe} {body} of a notification"):
                taken = exchange("initialized", note("ping"), body, status=403, answered=JSON)
                assert codes(transcript(taken, transport=HTTP)) == set()


def test_object_that_is_not_a_message_is_one_finding_where_messages_are_expected() -> None:
    log = {"level": 30, "msg": "listening"}
    events = {"status": 200, "answered": {"content-type": "text/event-stream"}}
    for transport, about in (
        (STDIO, {}),
        (HTTP, {"status": 200, "answered": JSON}),
        (HTTP, events),
    ):
        with case(f"{transport} {about}"):
            written = exchange("ping", request("ping"), log, result(), **about)
            (found,) = judge([transcript(written, transport=transport, revision="2025-03-26")])
            assert found.rule.code == "not-a-message"
            assert found.example.got == json.dumps(log)


def test_refusal_that_claims_to_be_a_message_is_checked_as_one() -> None:
    body = {"jsonrpc": "2.0", "error": "forbidden"}
    refused = exchange("ping", request("ping"), body, status=403, answered=JSON)
    assert "invalid-envelope" in codes(transcript(refused, transport=HTTP))


def test_first_three_lines_that_are_not_messages_are_quoted() -> None:
    lines = [b"{", b'"jsonrpc": "2.0",', b'"id": 1,', b'"result": {}', b"}"]
    (found,) = judge(
        [transcript(exchange("unknown notification", note("notifications/x"), *lines))]
    )
    assert found.example.got == '{ "jsonrpc": "2.0", "id": 1,'


def test_content_length_frames_are_named() -> None:
    framed = exchange("ping", request("ping"), b"Content-Length: 38", result())
    (found,) = judge([transcript(framed)])
    assert "Content-Length frames, as in LSP" in found.example.message


def test_answer_to_the_ping_after_a_mistake_is_not_the_answer_to_the_mistake() -> None:
    messages = [message("client", b"{"), message("client", request("ping"))]
    refused = replace(
        exchange("no JSON", None), messages=(*messages, message("server", error(-32601)))
    )
    assert codes(transcript(refused)) == set()
    unanswered = replace(refused, messages=tuple(messages), outcome=TIMEOUT)
    (found,) = judge([transcript(unanswered)])
    assert (found.rule.code, found.example.item) == ("no-answer", "ping")


def test_an_error_about_what_is_missing_names_it_wherever_it_comes() -> None:
    refused = request_exchange("resources/read", "resources/read", error(-32021))
    assert "missing-capability-data" in codes(transcript(refused, revision=STATELESS))


def test_a_misfit_on_a_later_page_has_its_place_on_that_page() -> None:
    pages = [tools(tool()), tools(tool(name="add two"))]
    (found,) = (
        finding for finding in judge([transcript(*pages)]) if finding.rule.code == "tool-name"
    )
    assert found.example.pointer == "/result/tools/0/name"


def test_a_rule_binds_only_the_revisions_that_have_it() -> None:
    listed = tools(tool(name="add two"))
    for revision in REVISIONS:
        with case(revision):
            found = "tool-name" in codes(transcript(listed, revision=revision))
            assert found is (revision in rules()["tool-name"].levels)


def test_each_rule_has_severities_pages_and_requirements_that_exist() -> None:
    assert rules().keys() == SEVERITIES.keys()
    text = "".join(page.read_text("utf-8") for page in REQUIREMENTS)
    rows = set(re.findall(r"^\| ([A-Z]+\d?-\d+) \|", text, re.MULTILINE))
    for rule in rules().values():
        with case(rule.code):
            assert set(rule.rows) <= rows
            assert rule.text.endswith(".")
            for revision in rule.levels:
                core = f"https://modelcontextprotocol.io/specification/{revision}/"
                assert rule.page(revision).startswith((core, EXTENSIONS))


def test_same_finding_of_several_transcripts_is_reported_once() -> None:
    transcripts = [transcript(tools(tool(), tool()), revision=revision) for revision in REVISIONS]
    (found,) = (
        finding for finding in judge(transcripts) if finding.rule.code == "tool-name-not-unique"
    )
    bound = sorted(found.rule.levels, reverse=True)
    assert found.transcripts == tuple(f"{revision} over stdio" for revision in bound)
    assert found.revision == bound[0] == REVISIONS[-1]


def test_a_cancelled_request_may_still_get_its_result_but_no_error() -> None:
    listed = request("tools/list")
    for answer, broken in ((error(0), True), (result({"tools": []}), False)):
        with case(str(answer)):
            found = codes(transcript(exchange("request cancelled", listed, answer)))
            assert ("cancelled-answered" in found) is broken


def test_only_what_is_asked_for_may_be_acknowledged() -> None:
    changes = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]}
    rows: dict[str, tuple[dict[str, Any], bool]] = {
        "all of it": (wanted, False),
        "less": ({"toolsListChanged": False}, False),
        "another member": ({"promptsListChanged": True}, True),
        "another URI": ({"resourceSubscriptions": ["file:///b"]}, True),
    }
    for name, (honoured, broken) in rows.items():
        with case(name):
            opened = listening(acknowledgment(**honoured), **wanted)
            found = codes(transcript(opened, revision=STATELESS, capabilities=changes))
            assert found == ({"acknowledged-too-much"} if broken else set[str]())


def test_a_method_of_tasks_that_is_missing_has_no_wrong_code() -> None:
    refused = request_exchange("unknown task: tasks/get", "tasks/get", error(-32601))
    assert codes(transcript(refused)) == {"declared-method-missing"}


def test_code_for_an_unknown_task_has_a_rule_by_the_method() -> None:
    rows = {"tasks/get": "", "tasks/result": "", "tasks/cancel": "-changed"}
    for (method, changed), revision in product({**rows, "tasks/update": "-changed"}.items(), ERAS):
        with case((method, revision)):
            refused = request_exchange(f"unknown task: {method}", method, error(-32603))
            code = f"unknown-task{changed if revision == STATELESS else ''}-code"
            assert codes(transcript(refused, revision=revision)) == {code}


def test_a_step_goes_on_until_it_is_answered_whatever_else_comes() -> None:
    intake = StepIntake(Clock())
    intake.begin(ProbeStep(waits=(7,)))
    for value, answered in ((note(""), False), (result(id="7"), False), (result(id=7), True)):
        with case(str(value)):
            assert [*intake.take(json.dumps(value).encode())] == []
            assert intake.is_complete is answered


def test_a_request_without_the_version_header_need_not_be_answered_as_of_the_newest() -> None:
    broken, _ = BROKEN_AND_KEPT["stream-not-primed"]
    answered = replace(broken.exchanges[-1], probe="no version header")
    assert codes(transcript(answered, transport=HTTP)) == set()


def test_strange_messages_of_resumed_stream_are_one_violation() -> None:
    stream: dict[str, Any] = {"status": 200, "answered": {"content-type": "text/event-stream"}}
    first = exchange("ping", request("ping"), result(), events=("a-1",), **stream)
    second = exchange("ping", request("ping", id=6), result(id=6), events=("b-1", "b-2"), **stream)
    resumed = exchange(
        *("GET with Last-Event-ID", None, result(id=6)),
        events=("b-1", "b-2"),
        headers={"last-event-id": "a-1"},
        **stream,
    )
    (found,) = (
        violation
        for violation in judge([transcript(first, second, resumed)])
        if violation.rule.code == "replayed-elsewhere"
    )
    assert found.number == 1


def test_replayed_answer_is_not_second_answer() -> None:
    _, kept = BROKEN_AND_KEPT["replayed-elsewhere"]
    assert codes(kept) == set()


def test_results_of_extensions_are_held_to_their_schemas() -> None:
    skills: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/skills": {}}}
    listed: dict[str, Any] = {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "skills": [{}],
    }
    answered = exchange("skills/list", request("skills/list"), result(listed))
    sent = transcript(answered, revision=STATELESS, capabilities=skills)
    assert {finding.example.item for finding in judge([sent])} == {"ListSkillsResult.skills"}


def test_a_misfit_has_the_place_in_the_message_and_in_terms_of_types() -> None:
    listed = tools(tool(), tool(description=7, annotations={"readOnlyHint": "yes"}))
    found = {finding.example.item: finding.example for finding in judge([transcript(listed)])}
    wrong = found["ListToolsResult.tools.description"]
    assert wrong.pointer == "/result/tools/1/description"
    assert wrong.message == "is not of type string"
    assert wrong.got == "7"
    assert "ListToolsResult.tools.annotations.readOnlyHint" in found


def test_a_content_block_is_held_to_the_kind_that_it_says_it_is() -> None:
    block = {"type": "image", "data": 5, "mimeType": "image/png"}
    found = [
        finding.example
        for finding in judge([call_transcript({"content": [block], "structuredContent": {}})])
        if finding.rule.code == "invalid-message"
    ]
    assert [(example.item, example.pointer) for example in found] == [
        ("CallToolResult.content.data", "/result/content/0/data")
    ]


def test_whatever_a_server_lists_and_returns_it_is_judged() -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"a": deep}
    schemas: tuple[Any, ...] = (
        {"$ref": "http://127.0.0.1:1/never-fetched"},
        {"$ref": "#"},
        {"$schema": ["x"]},
        {"$schema": "http://["},
        {"properties": {"a": {"pattern": "["}}},
        {"properties": deep},
    )
    call = request("tools/call", {"name": "add"})
    returned = exchange("tools/call", call, result({"content": [], "structuredContent": deep}))
    names: tuple[Any, ...] = ("add", [], None)
    for schema in schemas:
        for name in names:
            listed = tools(tool(name=name, inputSchema=schema, outputSchema=schema))
            for revision in REVISIONS[-2:]:
                with case(f"{schema} {name} {revision}"[:80]):
                    assert codes(transcript(listed, returned, revision=revision))


def test_rule_without_end_applies_to_all_later_revisions() -> None:
    entry: dict[str, Any] = {"text": "It is so.", "from": OLD, "level": "SHOULD", "page": "basic"}
    changed = {**entry, "since": {STATELESS: {"level": "MUST", "page": "schema"}}}
    later = REVISIONS[REVISIONS.index(OLD) + 1 :]
    for given, level, levels, page in (
        (entry, "SHOULD", dict.fromkeys(later, "SHOULD"), "basic"),
        ({**entry, "until": OLD}, "SHOULD", {}, "basic"),
        (
            changed,
            f"SHOULD, MUST since {STATELESS}",
            {name: "MUST" if name >= STATELESS else "SHOULD" for name in later},
            "schema",
        ),
    ):
        with case(given):
            rule = read_rules(json.dumps({"so": given}).encode())["so"]
            assert rule.level == level
            assert rule.levels == {OLD: "SHOULD", **levels}
            assert rule.pages[max(rule.pages)] == page


def test_rules_are_checked_when_they_are_read() -> None:
    entry: dict[str, Any] = {"text": "It is so.", "from": OLD, "level": "MUST", "page": "basic"}
    for wrong, why in (
        ({"from": UNKNOWN_REVISION}, "unknown revisions"),
        ({"until": UNKNOWN_REVISION}, "unknown revisions"),
        ({"from": STATELESS, "until": OLD}, "oldest first"),
        ({"until": OLD, "since": {STATELESS: {"page": "schema"}}}, "oldest first"),
        ({"level": "MAY"}, "level"),
        ({"since": {STATELESS: {"text": "It is not."}}}, "Extra inputs"),
        ({"to": STATELESS}, "Extra inputs"),
    ):
        with case(wrong), pytest.raises(ValueError, match=why):
            read_rules(json.dumps({"so": {**entry, **wrong}}).encode())

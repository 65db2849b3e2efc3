"""Facts against schema: each kind of disagreement is found, at its place in the facts."""

from collections.abc import Callable
from typing import Any

import pytest
from mcp_protogen.base.jsonpointer import walk
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.pipeline.derive.crosscheck import compare, drop_facts, variant_choices
from mcp_protogen.pipeline.derive.skeleton import skeleton_of
from mcp_protogen.pipeline.inputs.facts import Facts
from support import tables
from support.unit import schemas
from support.unit.schemas import PAGE, STRING, Json, record

Mutation = Callable[[Json], Any]
Table = dict[str, tuple[Mutation, str]]
SAY = "/methods/echo~1say"


def find_problems(mutate: Mutation, *, own: bool = True) -> list[Problem]:
    stated = schemas.facts()
    shown = skeleton_of(schemas.derive(schemas.schema()).schema, "schema.json")
    mutate(stated)
    origin = schemas.REVISION if own else "2029-01-01"
    return list(compare(shown, Facts(schemas.REVISION, stated, origin), "facts.json"))


def say(**members: Any) -> Mutation:
    return lambda facts: facts["methods"]["echo/say"].update(members)


def gate_on(member: str, values: list[Any]) -> Json:
    when = [{"member": member, "one_of": values}]
    return {"server.echo": {"level": "MUST", "when": when, "source": PAGE}}


def section(name: str, **entries: Any) -> Mutation:
    return lambda facts: facts.setdefault(name, {}).update(entries)


def types(kind: str, name: str) -> Mutation:
    return lambda facts: facts["types"].update({kind: {name: {"source": PAGE}}})


def duty(kind: str, where: str, rule: str, value: Any) -> Mutation:
    return section(kind, duty={"where": where, "rule": rule, "value": value, "source": PAGE})


def repeats(part: Json, **others: Any) -> Mutation:
    """Facts of requests with a header field that repeats a part of them."""
    field = {"level": "MUST", "repeats": {**part, "policy": "both"}, "source": PAGE}

    def mutate(facts: Json) -> None:
        facts.update({"headers": {"request": {"x-echo": field}}, **others})

    return mutate


def on_stream(request: str, **place: Any) -> Mutation:
    return lambda facts: facts["methods"]["notifications/log"].update(
        stream={"request": request, **place}
    )


LOG_STREAM = "/methods/notifications~1log/stream"

DISAGREEING: Table = {
    "a stream of a request that is not there": (on_stream("echo/gone"), f"{LOG_STREAM}/request"),
    "a stream of a notification": (on_stream("notifications/gone"), f"{LOG_STREAM}/request"),
    "a request on a stream": (
        say(stream={"request": "echo/say", "order": "first"}),
        f"{SAY}/stream/request",
    ),
    "a member of a filter that no type has": (
        on_stream("echo/say", member="newLogs"),
        f"{LOG_STREAM}/member",
    ),
    "two last notifications of one stream": (
        lambda facts: [
            facts["methods"][f"notifications/{name}"].update(
                stream={"request": "echo/say", "order": "last"}
            )
            for name in ("gone", "log")
        ],
        f"{LOG_STREAM}/order",
    ),
    "a header field that repeats a key of _meta that is not there": (
        repeats({"meta": "x"}),
        "/headers/request/x-echo/repeats",
    ),
    "a header field that cannot differ from the message": (
        repeats({"member": "method"}, errors={}),
        "/headers/request/x-echo/repeats",
    ),
    "a header field of requests with a value of its own": (
        section("headers", request={"x-echo": {"level": "MAY", "value": "x", "when": "failed"}}),
        "/headers/request/x-echo/value",
    ),
    "a member of params for an unknown header field": (
        say(headers={"x-echo": {"member": "text", "policy": "both"}}),
        f"{SAY}/headers/x-echo",
    ),
    "a header field for a member that is not there": (
        lambda facts: (
            repeats({"member": "method"})(facts),
            say(headers={"x-echo": {"member": "gone", "policy": "if_present"}})(facts),
        ),
        f"{SAY}/headers/x-echo",
    ),
    "method that the schema lacks": (
        lambda facts: facts["methods"].update({"echo/shout": facts["methods"]["echo/say"]}),
        "/methods/echo~1shout",
    ),
    "wrong message": (say(message="AskRequest"), f"{SAY}/message"),
    "wrong sender": (say(senders=["server"]), f"{SAY}/senders"),
    "a sender too many": (say(senders=["client", "server"]), f"{SAY}/senders"),
    "wrong kind": (say(kind="notification"), f"{SAY}/kind"),
    "wrong params": (say(params="AskRequestParams"), f"{SAY}/params"),
    "params that may be left out": (say(params_required=False), f"{SAY}/params_required"),
    "wrong result": (say(results=["AskResult"]), f"{SAY}/results"),
    "no result": (say(results=[]), f"{SAY}/results"),
    "a call for params that are no choice": (
        say(variants={"say_it": "AskRequestParams"}),
        f"{SAY}/variants/say_it",
    ),
    "a call for the usual params": (
        say(variants={"say_it": "SayRequestParams"}),
        f"{SAY}/variants/say_it",
    ),
    "a call for a member that no other result has": (
        say(results=["SayResult", "AskResult"], variants={"say_often": "times"}),
        f"{SAY}/variants/say_often",
    ),
    "unknown capability in a gate": (
        say(requires={"server.ecco": {"level": "MUST", "source": PAGE}}),
        f"{SAY}/requires/server.ecco",
    ),
    "condition on a value that its member never has": (
        say(requires=gate_on("times", ["2"])),
        f"{SAY}/requires/server.echo",
    ),
    "gate on a role without the capability": (
        say(requires={"receiver.echo": {"level": "MUST", "source": PAGE}}),
        f"{SAY}/requires/receiver.echo",
    ),
    "capability that the schema lacks": (
        lambda facts: facts["capabilities"]["client"].update(x={"kind": "flag", "source": PAGE}),
        "/capabilities/client/x",
    ),
    "flag taken for presence": (
        lambda facts: facts["capabilities"]["server"]["echo.loud"].update(kind="presence"),
        "/capabilities/server/echo.loud",
    ),
    "presence taken for a flag": (
        lambda facts: facts["capabilities"]["server"]["echo"].update(kind="flag"),
        "/capabilities/server/echo",
    ),
    "a value to fill in that the schema refuses": (
        duty("producer", "TextBlock.text", "filled_in", 0),
        "/producer/duty",
    ),
    "a lenient value that the schema refuses": (
        duty("leniency", "TextBlock.text", "absent_reads_as", 0),
        "/leniency/duty",
    ),
}
LACKING: Table = {
    "method that the facts lack": (lambda facts: facts["methods"].pop("echo/say"), SAY),
    "capability that the facts lack": (
        lambda facts: facts["capabilities"]["server"].pop("logging"),
        "/capabilities/server/logging",
    ),
}
UNKNOWN: Table = {
    "unknown result type": (say(results=["SayResult", "Gone"]), f"{SAY}/results/1"),
    "unknown arm": (
        section("unions", Other={"arms": ["TextBlock", "Gone"]}),
        "/unions/Other/arms/1",
    ),
    "unknown type of a member of _meta": (
        section("meta_keys", x={"on": ["request"], "type": "Gone", "required": False}),
        "/meta_keys/x",
    ),
    "unknown type of results": (
        lambda facts: facts["rules"].update(result_type={"member": "gone", "absent": "x"}),
        "/rules/result_type",
    ),
    "unknown content": (
        section("content_blocks", types=["TextBlock", "Gone"]),
        "/content_blocks/types/1",
    ),
    "unknown data of an error": (
        section("errors", **{"-1": {"name": "X", "data": "Gone"}}),
        "/errors/-1/data",
    ),
    "unknown delay of an error": (
        section(
            "errors",
            **{"-1": {"name": "X", "data": "TextBlock", "retry": {"member": "gone", "unit": "s"}}},
        ),
        "/errors/-1/retry",
    ),
    "unknown open type": (types("open", "Gone"), "/types/open/Gone"),
    "unknown deprecated type": (types("deprecated", "Gone"), "/types/deprecated/Gone"),
    "unknown deprecated member": (
        types("deprecated", "TextBlock.gone"),
        "/types/deprecated/TextBlock.gone",
    ),
    "unknown foreign schema": (
        types("json_schemas", "Gone.schema"),
        "/types/json_schemas/Gone.schema",
    ),
    "unknown enumeration": (section("enums", Gone={"values": ["a"]}), "/enums/Gone"),
    "unknown open string": (
        section("open_strings", **{"TextBlock.gone": {"values": ["a"]}}),
        "/open_strings/TextBlock.gone",
    ),
    "unknown member to fill in": (
        duty("producer", "TextBlock.gone", "filled_in", ""),
        "/producer/duty",
    ),
    "unknown lenient member": (
        duty("leniency", "Gone.text", "absent_reads_as", ""),
        "/leniency/duty",
    ),
}
ERROR: Json = {"name": "X", "emit": "server", "source": PAGE}
KEY: Json = {"on": ["request"], "type": "string", "required": False, "source": PAGE}
REPORT: Json = {"token": "reason", "number": "reason"}
GONE = "/methods/notifications~1gone"


def notify(**members: Any) -> Mutation:
    return lambda facts: facts["methods"]["notifications/gone"].update(members)


def report(**members: Any) -> Mutation:
    """Facts of a notification that reports on the requests with a token."""

    def mutate(facts: Json) -> None:
        facts["meta_keys"]["reason"] = KEY
        facts["methods"]["notifications/gone"]["reports"] = {**REPORT, **members}

    return mutate


def error(**members: Any) -> Mutation:
    return section("errors", **{"-1": {**ERROR, **members}})


def keep(**members: Any) -> Mutation:
    def mutate(facts: Json) -> None:
        facts["caching"] = {**members, "source": PAGE}
        facts["methods"]["echo/say"]["traits"] = ["cacheable"]

    return mutate


UNREAD: Table = {
    "the status of an error that no server sends": (
        error(emit="client", http_status=400),
        "/errors/-1/http_status",
    ),
    "an error for requests with a key that they never have": (
        error(only_with="gone"),
        "/errors/-1/only_with",
    ),
    "an error that outdates what no client keeps": (
        error(outdates={"methods": ["echo/say"]}),
        "/errors/-1/outdates/methods/0",
    ),
    "an error that outdates what its data do not list": (
        error(data="TextBlock", outdates={"member": "gone"}),
        "/errors/-1/outdates",
    ),
    "a key of _meta on a type without _meta": (
        section("meta_keys", x={**KEY, "on": ["TextBlock"]}),
        "/meta_keys/x/on",
    ),
    "a key of _meta of an unknown type": (
        section("meta_keys", x={**KEY, "of": ["PingRequest", "Gone"]}),
        "/meta_keys/x/of/1",
    ),
    "a key that gates another method than calls of tools": (
        section("meta_keys", x={**KEY, "gates": "echo/say"}),
        "/meta_keys/x/gates",
    ),
    "a key that gates calls, but is in no listed tool": (
        section("meta_keys", x={**KEY, "gates": "tools/call"}),
        "/meta_keys/x/gates",
    ),
    "a trait of a method without the members for it": (
        say(traits=["cacheable"]),
        f"{SAY}/traits/0",
    ),
    "a trait of a notification": (notify(traits=["cancellable"]), f"{GONE}/traits/0"),
    "a notification that has to be answered": (notify(mandatory=True), f"{GONE}/mandatory"),
    "a phase where there are none": (
        lambda facts: (
            facts["lifecycle"].update(era="stateless"),
            say(phase="ready")(facts),
        ),
        f"{SAY}/phase",
    ),
    "a report that is a request": (say(reports=REPORT), f"{SAY}/reports"),
    "a report about requests by a key that they never have": (
        notify(reports=REPORT),
        f"{GONE}/reports",
    ),
    "a report without a number": (
        report(number="gone"),
        f"{GONE}/reports",
    ),
    "parts of a result from clients": (report(), f"{GONE}/reports"),
    "a unit of caching without anything to cache": (
        lambda facts: facts.update(caching={"unit": "list", "source": PAGE}),
        "/caching",
    ),
    "a tag that no result has": (keep(tag="gone"), "/caching/tag"),
    "known tags in no request": (keep(tag="content", known="gone"), "/caching/known"),
    "stale tags in no result": (keep(stale="progressToken"), "/caching/stale"),
    "a rule for senders among those for receivers": (
        duty("leniency", "SayResult.nextCursor", "filled_in", ""),
        "/leniency/duty/rule",
    ),
    "a rule for receivers among those for senders": (
        duty("producer", "SayResult.nextCursor", "absent_reads_as", ""),
        "/producer/duty/rule",
    ),
    "a lenient member that is in no result": (
        duty("leniency", "SayRequestParams.text", "absent_reads_as", ""),
        "/leniency/duty/where",
    ),
    "a name that another transport for programs has": (
        section(
            "transports",
            one={"address": "program", "names": ["a", "b"], "server": "x.y", "source": PAGE},
            other={"address": "program", "names": ["b"], "server": "x.z", "source": PAGE},
        ),
        "/transports/other/names/0",
    ),
    "a capability implied by an object that is not there": (
        lambda facts: facts["capabilities"]["server"]["echo"].update(implied=True),
        "/capabilities/server/echo/implied",
    ),
}
DISAGREEMENTS = [
    (name, mutate, code, pointer)
    for code, table in (
        ("facts-disagree", DISAGREEING),
        ("derived-facts", LACKING),
        ("unknown-type", UNKNOWN),
        ("unread-fact", UNREAD),
    )
    for name, (mutate, pointer) in table.items()
]


def test_conditions_have_values_of_any_json_type() -> None:
    for member, values in (("times", [1, 2]), ("mode", ["loud"]), ("gone", [True])):
        with tables.case(member):
            assert find_problems(say(requires=gate_on(member, values))) == []


def test_a_header_field_of_each_message_repeats_no_member_that_may_be_missing() -> None:
    document, stated = schemas.schema(), schemas.facts()
    del document["$defs"]["GoneNotification"]["properties"]["params"]["required"]
    stated["headers"] = {"request": {"x-echo": {"level": "MUST", "source": PAGE}}}
    repeated = {"member": "reason", "policy": "both"}
    stated["methods"]["notifications/gone"]["headers"] = {"x-echo": repeated}
    shown = skeleton_of(schemas.derive(document).schema, "schema.json")
    facts = Facts(schemas.REVISION, stated, schemas.REVISION)
    (problem,) = compare(shown, facts, "facts.json")
    assert problem.pointer == "/methods/notifications~1gone/headers/x-echo"
    assert problem.message == "GoneNotificationParams has no required string 'reason'"


def test_facts_that_agree_are_silent() -> None:
    assert find_problems(lambda facts: facts) == []


def test_a_disagreement_is_found_at_its_place() -> None:
    for name, mutate, code, pointer in DISAGREEMENTS:
        with tables.case(name):
            first = find_problems(mutate)[0]
            assert (first.code, first.pointer) == (code, pointer)
            assert (first.place, first.level) == ("facts.json", Level.ERROR)
            assert first.message and first.hint


def test_with_inherited_facts_it_is_news_and_no_error() -> None:
    for name, mutate, code, pointer in DISAGREEMENTS:
        with tables.case(name):
            news = find_problems(mutate, own=False)
            assert (news[0].code, news[0].pointer) == (code, pointer)
            assert {problem.level for problem in news} == {Level.WARNING}


def test_inherited_facts_that_disagree_are_left_out_and_nothing_else_is() -> None:
    shown = skeleton_of(schemas.derive(schemas.schema()).schema, "schema.json")
    for _, mutate, _, pointer in DISAGREEMENTS:
        stated = schemas.facts()
        mutate(stated)
        inherited = Facts(schemas.REVISION, stated, "2029-01-01")
        problems = compare(shown, inherited, "facts.json")
        left = dict(walk(drop_facts(inherited, problems).document))
        about = tuple(problem.pointer for problem in problems)
        gone = [path for path, _ in walk(stated) if path not in left]
        assert all(path.startswith(about) for path in gone), pointer
        assert bool(gone) == any(path in dict(walk(stated)) for path in about), pointer


def test_facts_that_open_sessions_otherwise_than_the_schema_are_found() -> None:
    shown = skeleton_of(schemas.derive(schemas.schema()).schema, "schema.json")
    shown.definitions["OpenRequest"] = schemas.message("server/discover")
    facts = Facts(schemas.REVISION, schemas.facts(), schemas.REVISION)
    codes = {(problem.code, problem.pointer) for problem in compare(shown, facts, "facts.json")}
    assert ("facts-disagree", "/lifecycle/era") in codes


def test_a_message_that_stands_in_no_union_is_found() -> None:
    document = schemas.schema()
    document["$defs"]["StrayRequest"] = schemas.message("stray", record(x=STRING))
    with pytest.raises(ProblemError) as caught:
        schemas.derive(document)
    (problem,) = caught.value.problems
    assert (problem.code, problem.pointer) == ("facts-disagree", "/methods/stray")
    assert "#/$defs/StrayRequest" in problem.hint


def test_class_of_params_without_properties_may_have_a_call_of_its_own() -> None:
    arms = [{"$ref": "#/$defs/Named"}, {"$ref": "#/$defs/Empty"}]
    named: Json = {"type": "object", "properties": {"name": {}}}
    definitions: Json = {"Params": {"anyOf": arms}, "Named": named, "Empty": {"type": "object"}}
    assert variant_choices({"params": "Params"}, definitions) == ["Empty"]

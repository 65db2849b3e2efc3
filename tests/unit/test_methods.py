"""Methods, capabilities, errors and rules of the IR."""

from dataclasses import replace
from typing import Any

from mcp_protogen.base.names import ClassName
from mcp_protogen.pipeline.emit import views
from mcp_protogen.pipeline.emit.method_texts import handling, purpose
from mcp_protogen.pipeline.ir import MessageKind, MethodIR, Ref, RevisionIR, TypeExpr
from support import tables
from support.unit import schemas
from support.unit.schemas import PAGE, STRING, Json, record, ref, union

STRINGS: Json = {"type": "array", "items": STRING}


def derive_ir(stated: Json | None = None, **more: Any) -> RevisionIR:
    document = schemas.schema()
    document["$defs"] |= more
    return schemas.derive(document, stated).ir


def method(ir: RevisionIR, name: str) -> MethodIR:
    return next(method for method in ir.methods if method.method == name)


def list_of(method: MethodIR) -> tuple[str, TypeExpr | None]:
    return method.list_member, method.items


def draft(**more: Any) -> RevisionIR:
    document = schemas.schema()
    document["$defs"] |= more
    return schemas.read(document).ir


def test_a_gate_on_the_other_side_is_spelt_out_for_each_sender() -> None:
    document = schemas.schema()
    both: Json = {"type": "object", "properties": {"pings": {"type": "boolean"}}}
    document["$defs"] |= {"ClientCapabilities": both, "ServerCapabilities": both}
    stated = schemas.facts()
    gates = {party: {"pings": {"kind": "flag", "source": PAGE}} for party in ("client", "server")}
    stated["capabilities"] = gates
    for name in ("echo/say", "user/ask"):
        del stated["methods"][name]["requires"]
    when = [{"member": "mode", "one_of": ["loud"], "or_absent": True}]
    gate = {"level": "SHOULD", "when": when, "source": PAGE}
    stated["methods"]["ping"]["requires"] = {"receiver.pings": gate}
    ir = schemas.derive(document, stated).ir
    needs = method(ir, "ping").requires
    assert [(need.sender, need.role) for need in needs] == [
        ("client", "server"),
        ("server", "client"),
    ]
    (condition,) = needs[0].when
    assert (condition.member, condition.one_of, condition.or_absent) == ("mode", ("loud",), True)
    stated["methods"]["ping"]["requires"] = {"sender.pings": gate}
    needs = method(schemas.derive(document, stated).ir, "ping").requires
    assert [need.role for need in needs] == ["client", "server"]


def test_a_method_without_facts_shows_its_traits_in_its_types() -> None:
    ir = draft(
        SayRequestParams2=record(
            cursor=STRING,
            task=record(ttl={"type": "integer"}),
            inputResponses={},
            requestState=STRING,
        ),
        SayRequest=schemas.message("echo/say", ref("SayRequestParams2")),
        SayResult=record(nextCursor=STRING, ttlMs={"type": "integer"}, cacheScope=STRING),
    )
    say = method(ir, "echo/say")
    assert say.traits == ("cacheable", "may_require_input", "paginated", "task_augmentable")
    assert (say.since, say.requires, say.removed) == ("draft", (), None)


def test_a_member_alone_may_mean_another_thing_than_the_trait() -> None:
    ir = draft(
        SayRequestParams2=record(task=STRING, inputResponses={}),
        SayRequest=schemas.message("echo/say", ref("SayRequestParams2")),
        SayResult=record(ttlMs={"type": "integer"}),
    )
    assert method(ir, "echo/say").traits == ()


def test_a_requirement_depends_on_a_boolean_or_a_number() -> None:
    stated = schemas.facts()
    cases = [{"member": "signed", "one_of": [True]}, {"member": "times", "one_of": [1, 2.5]}]
    gate = stated["methods"]["echo/say"]["requires"]["server.echo"]
    gate["when"] = cases
    params = record(("text",), text=STRING, signed={"type": "boolean"}, times={"type": "number"})
    say = method(derive_ir(stated, SayRequest=schemas.message("echo/say", params)), "echo/say")
    (requirement,) = say.requires
    assert [views.condition(condition) for condition in requirement.when] == [
        'Condition("signed", one_of=(True,))',
        'Condition("times", one_of=(1, 2.5))',
    ]
    assert "Needs the capability `echo` if `signed` is `true` or `times` is `1` or `2.5`." in (
        handling(say)
    )


def test_a_method_without_params_takes_those_of_any_message() -> None:
    plain = record(("method",), method={"const": "user/ask"})
    said = record(("method",), method={"const": "notifications/gone"})
    ir = draft(AskRequest=plain, GoneNotification=said, NotificationParams=record(x=STRING))
    assert method(ir, "user/ask").params == "RequestParams"
    assert method(ir, "notifications/gone").params == "NotificationParams"
    assert not method(ir, "user/ask").params_required


def test_inherited_facts_about_what_is_gone_are_not_used() -> None:
    ir = draft(
        CallToolRequest=schemas.message("tools/call", record(name=STRING)),
        ClientRequest=union("SayRequest", "PingRequest", "CallToolRequest"),
    )
    call = method(ir, "tools/call")
    assert call.requires == ()
    assert call.results == ("EmptyResult",)
    assert all(error.data is None for error in ir.errors)


def test_a_result_that_may_be_one_of_several_types_is_any_of_them() -> None:
    stated = schemas.facts()
    stated["methods"]["echo/say"]["results"].append("EmptyResult")
    louder = {"SayResult": union("LoudResult", "EmptyResult"), "LoudResult": record(loud=STRING)}
    assert method(derive_ir(stated, **louder), "echo/say").results == ("LoudResult", "EmptyResult")


def test_a_page_of_anything_else_is_no_list() -> None:
    for name, result in [
        ("two arrays", record(("a", "b"), a=STRINGS, b=STRINGS, nextCursor=STRING)),
        ("no array", record(nextCursor=STRING)),
        ("an array that may be absent", record(a=STRINGS, nextCursor=STRING)),
    ]:
        with tables.case(name):
            ir = derive_ir(schemas.facts_of_pages(), SayResult=result)
            assert method(ir, "echo/say").items is None
    endless = derive_ir(SayResult=record(("a",), a=STRINGS))
    assert method(endless, "echo/say").items is None


def test_a_page_lists_its_array_where_other_results_may_come_instead() -> None:
    stated = schemas.facts_of_pages()
    stated["methods"]["echo/say"]["results"].append("EmptyResult")
    say = method(derive_ir(stated), "echo/say")
    assert list_of(say) == ("content", Ref(ClassName("Block")))
    assert (views.plain_result(say), views.result(say)) == (
        "m.SayResult",
        "m.SayResult | m.EmptyResult",
    )


def test_the_text_of_a_stub_says_what_it_does_if_that_is_known() -> None:
    ping = replace(method(derive_ir(), "ping"), requires=())
    rows: tuple[tuple[MessageKind, str, str, str], ...] = (
        ("request", "", "Send `ping`.", "Handle `ping`."),
        ("request", "Deprecated.", "Send `ping`. Deprecated.", "Handle `ping`. Deprecated."),
        ("request", "Say hello.", "Say hello (`ping`).", "Say hello (`ping`)."),
        ("notification", "Deprecated.", "Send `ping`. Deprecated.", "Handle `ping`. Deprecated."),
        (
            "notification",
            "Say hello. Deprecated.",
            "Say hello (`ping`). Deprecated.",
            "Handle `ping`.\n\nIt is sent to say hello. Deprecated.",
        ),
    )
    for kind, doc, sent, handled in rows:
        with tables.case((kind, doc)):
            one = replace(ping, kind=kind, doc=doc)
            assert (purpose(one), handling(one)) == (sent, handled)

"""Methods and capabilities that the schema alone states."""

from mcp_protogen.pipeline.derive import skeleton
from support.unit import schemas
from support.unit.schemas import STRING, Json, record, ref, union


def definitions() -> Json:
    found: Json = schemas.derive(schemas.schema()).schema["$defs"]
    return found


def test_a_question_inside_a_result_is_embedded() -> None:
    changed = definitions()
    changed["InputRequest"] = union("AskRequest")
    changed["ServerRequest"] = union("PingRequest")
    assert skeleton.methods(changed)["user/ask"].kind == "embedded"


def test_without_a_result_of_its_own_a_request_is_answered_by_an_empty_one() -> None:
    changed = definitions()
    assert skeleton.methods(changed)["ping"].results == ("EmptyResult",)
    del changed["EmptyResult"]
    assert skeleton.methods(changed)["ping"].results == ()


def test_leaves_of_nested_unions_are_in_order() -> None:
    nested = {"U": union("V", "A"), "V": union("B", "C"), **dict.fromkeys("ABC", record(x={}))}
    assert skeleton.union_leaves(nested, "U") == ["B", "C", "A"]
    assert skeleton.union_leaves(nested, "Nothing") == []


def talking(params: Json, **more: Json) -> Json:
    """The schema with a second message for `echo/say`."""
    made = schemas.schema()
    made["$defs"] |= {"TalkRequest": schemas.message("echo/say", params), **more}
    made["$defs"]["ClientRequest"] = union("SayRequest", "TalkRequest", "PingRequest")
    return made


def test_messages_of_one_method_with_the_same_params_are_one() -> None:
    made = talking(
        ref("AskRequestParams"), SayRequest=schemas.message("echo/say", ref("AskRequestParams"))
    )
    found = skeleton.methods(schemas.read(made).schema["$defs"])["echo/say"]
    assert (found.message, found.params) == ("SayRequest", "AskRequestParams")
    assert found.results == ("SayResult",)


def test_a_message_that_also_travels_in_results_is_the_same_method() -> None:
    made = schemas.schema()
    made["$defs"]["AskInputRequest"] = schemas.message("user/ask", ref("AskRequestParams"))
    made["$defs"]["InputRequest"] = union("AskInputRequest")
    for kind in ("request", "embedded"):
        found = skeleton.methods(schemas.read(made).schema["$defs"])["user/ask"]
        assert (found.message, found.kind, found.results) == ("AskRequest", kind, ("AskResult",))
        made["$defs"]["InputRequiredResult"] = record(x=STRING)


def test_a_union_of_one_message_need_not_be_known_to_be_one() -> None:
    for written in (ref("PingRequest"), schemas.message("ping")):
        made = schemas.schema()
        made["$defs"]["ServerRequest"] = written
        found = skeleton.methods(schemas.read(made).schema["$defs"])["ping"]
        assert (found.message, found.senders) == ("PingRequest", ("client", "server"))

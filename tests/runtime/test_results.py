"""Results for a receiver: its leniency, and its known result types."""

from copy import deepcopy
from itertools import product
from typing import Annotated, Any

import pytest
from mcp_protogen.runtime.core.errors import InvalidAnswer
from mcp_protogen.runtime.core.models import Integer, WireModel
from mcp_protogen.runtime.core.models.base import validator_of
from mcp_protogen.runtime.core.spec import AnyRequest, RequestSpec, Rules
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.messages.results import UnknownResultType, result_reader
from mcp_revisions.v2025_11_25 import methods
from mcp_revisions.v2026_07_28 import methods as s
from mcp_revisions.v2026_07_28 import models as m
from pydantic import Field
from support.json_types import Json, JsonObject

TOOLS: list[Json] = [{"name": "a", "inputSchema": {"type": "object"}}]
WHOLE = {
    "resultType": "complete",
    "ttlMs": 5,
    "cacheScope": "public",
    "tools": TOOLS,
    "messages": [],
}


def without(*members: str, **more: Any) -> JsonObject:
    return {key: value for key, value in WHOLE.items() if key not in members} | more


def read(spec: AnyRequest, value: object) -> Any:
    return s.TABLE.read_result(spec, value)


def refusal_pointers(spec: AnyRequest, value: object) -> list[str]:
    with pytest.raises(InvalidAnswer) as caught:
        read(spec, value)
    return [pointer for pointer, _ in caught.value.problems]


BOTH: list[AnyRequest] = [s.LIST_TOOLS, s.GET_PROMPT]


class TestLeniency:
    def test_a_whole_result_is_read_as_it_is(self) -> None:
        assert read(s.LIST_TOOLS, WHOLE).to_wire() == WHOLE

    def test_an_absent_member_reads_as_the_rules_say(self) -> None:
        for member, instead in [
            ("resultType", "complete"),
            ("ttlMs", 0),
            ("cacheScope", "private"),
        ]:
            assert read(s.LIST_TOOLS, without(member)).to_wire() == WHOLE | {member: instead}

    def test_a_negative_number_reads_as_the_rules_say(self) -> None:
        for ttl in [-1, -0.5, -(10**30)]:
            assert read(s.LIST_TOOLS, without(ttlMs=ttl)).ttl_ms == 0

    def test_other_ttl_faults_are_refused(self) -> None:
        values: list[Json] = [None, "1", "-1", True, 1.5, []]
        for ttl in values:
            assert refusal_pointers(s.LIST_TOOLS, without(ttlMs=ttl)) == ["/result/ttlMs"]

    def test_received_value_is_unchanged(self) -> None:
        value = {"tools": TOOLS, "ttlMs": -1}
        before = deepcopy(value)
        read(s.LIST_TOOLS, value)
        assert value == before

    def test_an_optional_member_is_held_to_the_schema(self) -> None:
        class Optional(WireModel):
            ttl_ms: Annotated[Integer | None, Field(alias="ttlMs", ge=0)] = None

        spec: AnyRequest = RequestSpec(
            "x",
            senders=frozenset({"client"}),
            load_params=lambda: m.RequestParams,
            load_results=lambda: (Optional,),
        )
        assert read(spec, {"resultType": "complete"}).ttl_ms is None
        assert refusal_pointers(spec, {"resultType": "complete", "ttlMs": -1}) == ["/result/ttlMs"]

    def test_another_type_of_result_is_forgiven_nothing(self) -> None:
        assert refusal_pointers(s.GET_PROMPT, {"resultType": "input_required"}) == ["/result"]

    def test_a_revision_without_rules_reads_with_the_model_alone(self) -> None:
        reader = result_reader(methods.LIST_TOOLS, Rules())
        assert reader == validator_of(methods.LIST_TOOLS.results[0])


class TestResultTypes:
    def test_an_unknown_one_is_refused(self) -> None:
        for spec in BOTH:
            assert refusal_pointers(spec, without(resultType="task")) == ["/result/resultType"]

    def test_result_type_unknown_to_method_is_refused(self) -> None:
        value = without(resultType="input_required", requestState="x")
        assert refusal_pointers(s.LIST_TOOLS, value) == ["/result/resultType"]

    def test_result_type_must_be_string(self) -> None:
        kinds: list[Json] = [None, 1, True, [], {}, ["complete"]]
        for kind, spec in product(kinds, BOTH):
            assert refusal_pointers(spec, without(resultType=kind)) == ["/result/resultType"]

    def test_the_reader_says_which_it_was(self) -> None:
        with pytest.raises(UnknownResultType, match="task"):
            result_reader(s.LIST_TOOLS, s.TABLE.rules)({"resultType": "task"})

    def test_a_result_has_to_be_an_object(self) -> None:
        values: list[Json] = [None, [], "complete", 1]
        for value in values:
            assert refusal_pointers(s.LIST_TOOLS, value) == ["/result"]

    def test_a_revision_that_has_no_types_takes_any(self) -> None:
        table = MethodTable("x", requests={"tools/list": s.LIST_TOOLS}, notifications={}, errors={})
        assert table.read_result(s.LIST_TOOLS, without(resultType="task")).result_type == "task"

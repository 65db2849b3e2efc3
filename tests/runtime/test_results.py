"""Results for a receiver: its leniency, and its known result types."""

from copy import deepcopy
from itertools import product
from typing import Any

import pytest
from mcp_protogen.runtime.core.errors import InvalidAnswer
from mcp_protogen.runtime.core.models.base import validator_of
from mcp_protogen.runtime.core.spec import AnyRequest, Rules
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.messages.results import UnknownResultType, result_reader
from mcp_revisions.v2025_11_25 import methods
from pydantic import ValidationError
from support.json_types import Json, JsonObject
from support.runtime import stateless as s

WHOLE = {"resultType": "complete", "ttlMs": 5, "cacheScope": "public", "items": ["a"]}


def without(*members: str, **more: Any) -> JsonObject:
    return {key: value for key, value in WHOLE.items() if key not in members} | more


def read(spec: AnyRequest, value: object) -> Any:
    return s.TABLE.read_result(spec, value)


def refusal_pointers(spec: AnyRequest, value: object) -> list[str]:
    with pytest.raises(InvalidAnswer) as caught:
        read(spec, value)
    return [pointer for pointer, _ in caught.value.problems]


BOTH: list[AnyRequest] = [s.LIST, s.NAME]


class TestLeniency:
    def test_a_whole_result_is_read_as_it_is(self) -> None:
        assert read(s.LIST, WHOLE).to_wire() == WHOLE

    def test_an_absent_member_reads_as_the_rules_say(self) -> None:
        for member, instead in [
            ("resultType", "complete"),
            ("ttlMs", 0),
            ("cacheScope", "private"),
        ]:
            assert read(s.LIST, without(member)).to_wire() == WHOLE | {member: instead}

    def test_everything_may_be_absent_at_once(self) -> None:
        found = read(s.LIST, {"items": []})
        assert (found.result_type, found.ttl_ms, found.cache_scope) == ("complete", 0, "private")

    def test_a_negative_number_reads_as_the_rules_say(self) -> None:
        for ttl in [-1, -0.5, -(10**30)]:
            assert read(s.LIST, without(ttlMs=ttl)).ttl_ms == 0

    def test_other_ttl_faults_are_refused(self) -> None:
        values: list[Json] = [None, "1", "-1", True, 1.5, []]
        for ttl in values:
            assert refusal_pointers(s.LIST, without(ttlMs=ttl)) == ["/result/ttlMs"]

    def test_received_value_is_unchanged(self) -> None:
        value = {"items": ["a"], "ttlMs": -1}
        before = deepcopy(value)
        read(s.LIST, value)
        assert value == before

    def test_an_optional_member_is_held_to_the_schema(self) -> None:
        assert read(s.NAME, {"resultType": "complete"}).ttl_ms is None
        assert refusal_pointers(s.NAME, {"resultType": "complete", "ttlMs": -1}) == [
            "/result/ttlMs"
        ]

    def test_models_are_as_strict_as_the_schema(self) -> None:
        with pytest.raises(ValidationError):
            s.ListResult.from_wire(without("ttlMs"))

    def test_another_type_of_result_is_forgiven_nothing(self) -> None:
        assert refusal_pointers(s.NAME, {"resultType": "input_required"}) == ["/result/state"]

    def test_a_revision_without_rules_reads_with_the_model_alone(self) -> None:
        reader = result_reader(methods.LIST_TOOLS, Rules())
        assert reader == validator_of(methods.LIST_TOOLS.results[0])


class TestResultTypes:
    def test_each_type_has_its_class(self) -> None:
        assert type(read(s.NAME, {"resultType": "complete"})) is s.NameResult
        asked = read(s.NAME, {"resultType": "input_required", "state": "x"})
        assert type(asked) is s.InputRequiredResult

    def test_an_unknown_one_is_refused(self) -> None:
        for spec in BOTH:
            assert refusal_pointers(spec, without(resultType="task")) == ["/result/resultType"]

    def test_result_type_unknown_to_method_is_refused(self) -> None:
        value = without(resultType="input_required", state="x")
        assert refusal_pointers(s.LIST, value) == ["/result/resultType"]

    def test_result_type_must_be_string(self) -> None:
        kinds: list[Json] = [None, 1, True, [], {}, ["complete"]]
        for kind, spec in product(kinds, BOTH):
            assert refusal_pointers(spec, without(resultType=kind)) == ["/result/resultType"]

    def test_the_reader_says_which_it_was(self) -> None:
        with pytest.raises(UnknownResultType, match="task"):
            result_reader(s.LIST, s.TABLE.rules)({"resultType": "task"})

    def test_a_result_has_to_be_an_object(self) -> None:
        values: list[Json] = [None, [], "complete", 1]
        for value in values:
            assert refusal_pointers(s.LIST, value) == ["/result"]

    def test_a_revision_that_has_no_types_takes_any(self) -> None:
        table = MethodTable("x", requests={"list": s.LIST}, notifications={}, errors={})
        assert table.read_result(s.LIST, without(resultType="task")).result_type == "task"

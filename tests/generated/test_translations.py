"""Translation between all revisions: valid values, named losses, and steps that can be reversed."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import pytest
from mcp_protogen.base.names import module_name
from mcp_protogen.runtime.core.revision import load_generated
from mcp_revisions import Untranslatable
from support import tables
from support.generated import oracle
from support.generated.golden_package import PACKAGE, REVISIONS
from support.generated.instances import Instances
from support.generated.translations import (
    PAIRS,
    accepts,
    bare,
    names,
    translator,
    unnamed_losses,
    without,
)


@cache
def values_of(revision: str, name: str) -> list[Any]:
    """Return values of a type by its patched schema."""
    instances = Instances(oracle.patch_snapshot(revision))
    return instances.some(oracle.subjects(revision)[name].pointer, tables.count(10, 25))


def for_all_values(revision: str, name: str, check: Callable[[Any], None]) -> None:
    """Try values of a type."""
    for value in values_of(revision, name):
        check(value)


@pytest.mark.parametrize(("source", "destination"), PAIRS)
def test_translation_is_valid_and_names_every_loss(source: str, destination: str) -> None:
    def check(value: Any) -> None:
        before = deepcopy(value)
        try:
            outcome = translator(source, destination).translate(value, name)
        except Untranslatable:
            return
        assert value == before, f"{name}: the input was changed"
        assert accepts(destination, becomes)(outcome.value), f"{name}: {value}, {outcome}"
        assert unnamed_losses(value, outcome) == [], f"{name}: {value}, {outcome}"

    for pair in names(source, destination):
        name, becomes = pair
        for_all_values(source, name, check)


@pytest.mark.parametrize(("older", "newer"), list(combinations(REVISIONS, 2)))
def test_lifted_value_comes_back_unchanged(older: str, newer: str) -> None:
    up, down = translator(older, newer), translator(newer, older)
    back = dict(names(newer, older))

    def check(value: Any) -> None:
        try:
            lifted = up.translate(value, name)
        except Untranslatable:
            return
        again = down.translate(lifted.value, becomes)
        lost = [loss.pointer for loss in lifted.losses]
        # An empty `_meta` counts as none.
        left = bare(without(value, lost))
        assert bare(without(again.value, lost)) == left, f"{name}: {lifted}, {again}"

    for name, becomes in names(older, newer):
        if becomes in back:
            for_all_values(older, name, check)


@pytest.mark.parametrize(("source", "destination"), PAIRS)
def test_way_over_several_steps_is_that_of_each_of_them(source: str, destination: str) -> None:
    way = [*REVISIONS[:: 1 if source < destination else -1]]
    way = way[way.index(source) : way.index(destination) + 1]

    def check(value: Any) -> None:
        before, at = value, name
        try:
            for start, end in pairwise(way):
                value = translator(start, end).translate(value, at).value
                at = translator(start, end).becomes(at)
        except Untranslatable:
            with pytest.raises(Untranslatable):
                translator(source, destination).translate(before, name)
            return
        whole = translator(source, destination).translate(before, name)
        assert (whole.value, becomes) == (value, at), f"{name}: {before}"
        places = [(loss.pointer, loss.what) for loss in whole.losses]
        assert len(places) == len(set(places)), f"{name}: {whole.losses}"

    for pair in names(source, destination):
        name, becomes = pair
        for_all_values(source, name, check)


def test_messages_that_do_not_change_have_no_translation() -> None:
    unchanged = 0
    for newer in REVISIONS[1:]:
        tables_of_step = load_generated(PACKAGE.name).__mcp_part__(
            f"translate.{module_name(newer)}"
        )
        assert tables_of_step is not None
        for direction in (tables_of_step.UP, tables_of_step.DOWN):
            there = translator(direction.source, direction.destination)
            for method, steps in direction.methods.items():
                params, result = there.message(method, "params"), there.message(method, "result")
                assert (params is None) == (steps.params is None)
                assert (result is None) == (steps.result is None)
                unchanged += (params is None) + (result is None)
    assert unchanged

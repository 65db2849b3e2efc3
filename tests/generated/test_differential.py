"""Every generated type accepts what its part of the schema accepts, and writes back what it read.

Definitions and nameless objects of all revisions are covered, with instances that Hypothesis makes
and with mutations of them. The examples are the same in every run.
"""

from functools import cache
from random import Random
from typing import Any

import oracle
import pytest
from differential import disagreement
from golden_package import REVISIONS, load
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from instances import Instances
from mutants import edits

CASES = [(revision, name) for revision in REVISIONS for name in oracle.subjects(revision)]

SETTINGS = settings(
    max_examples=30,
    derandomize=True,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@cache
def instances(revision: str, complete: bool) -> Instances:
    """The strategies of one revision."""
    return Instances(oracle.document(revision), complete=complete)


@pytest.mark.shows("S2-13", "S2-34")
@pytest.mark.parametrize(("revision", "name"), CASES)
def test_type_and_schema_accept_the_same_values(revision: str, name: str) -> None:
    subject = oracle.subjects(revision)[name]

    @SETTINGS
    @given(instances(revision, False).at(subject.pointer), st.integers(0, 2**32))
    def agree(value: Any, seed: int) -> None:
        assert oracle.accepts(revision, subject.pointer)(value), "the strategy itself is wrong"
        assert disagreement(revision, subject, value, exact=True) is None
        changes = list(edits(value, depth=4))
        for change in Random(seed).sample(changes, min(12, len(changes))):
            assert disagreement(revision, subject, change.of(value), exact=False) is None

    agree()


@pytest.mark.shows(
    "S1-04",
    "S2-01",
    "S2-12",
    "S2-25",
    "S2-27",
    "S2-28",
    "S4-01",
    "S4-06",
    "S4-12",
    "S4-13",
    "S4-14",
    "S4-15",
    "S4-16",
)
@pytest.mark.parametrize(("revision", "name"), CASES)
def test_type_and_schema_agree_on_every_small_change(revision: str, name: str) -> None:
    """All members present, and every change to the whole and to each member, one at a time."""
    subject = oracle.subjects(revision)[name]

    @settings(SETTINGS, max_examples=2)
    @given(instances(revision, True).at(subject.pointer))
    def agree(value: Any) -> None:
        assert disagreement(revision, subject, value, exact=True) is None
        for change in edits(value, depth=1):
            assert disagreement(revision, subject, change.of(value), exact=False) is None

    agree()


@pytest.mark.parametrize("revision", REVISIONS)
def test_there_is_a_type_for_every_definition_and_nameless_object(revision: str) -> None:
    models = load(revision).models
    exported = set(models.__all__)
    subjects = oracle.subjects(revision).keys()
    assert subjects <= exported
    # Nameless unions with a tag get names too, so that the tag is said once.
    assert not [name for name in exported - subjects if isinstance(getattr(models, name), type)]

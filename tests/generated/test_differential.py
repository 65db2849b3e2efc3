"""Every generated type accepts the same values as its schema, and writes them back.

Definitions and nameless objects of all revisions and extensions are covered, with instances made
at random and with mutations of them: types that revisions share once, in the last that has them.
The examples are the same in every run; with `--all` there are more, in every revision.
"""

from collections.abc import Callable, Generator
from random import Random
from typing import Any

import pytest
from support import tables
from support.generated import oracle
from support.generated.differential import disagreement, verdicts
from support.generated.golden_package import EXTENDED, REVISIONS, load
from support.generated.instances import Instances
from support.generated.mutants import REPLACEMENTS, edits, value_of_each_type

pytestmark = pytest.mark.long

EVERYTHING = bool(tables.count(0, 1))


@pytest.fixture(autouse=True)
def count_verdicts(record_property: Callable[[str, object], None]) -> Generator[None, None, None]:
    """Report to the recorder of a run how many verdicts a test compared."""
    verdicts.clear()
    yield
    record_property("counted", dict(verdicts))


Agree = Callable[[oracle.Subject, Any, Random], None]


def try_subjects(revision: str, agree: Agree, complete: bool, examples: int) -> None:
    """Try values of all subjects, or with fewer values of those that no later revision has."""
    instances = Instances(oracle.document(revision), complete=complete)
    subjects = oracle.subjects(revision).values()
    for subject in subjects if EVERYTHING else oracle.changed_subjects(revision):
        random = Random(subject.pointer)
        for value in instances.some(subject.pointer, examples):
            with tables.case((subject.name, value)):
                agree(subject, value, random)


@pytest.mark.shows("S2-13", "S2-34")
@pytest.mark.parametrize("revision", [*REVISIONS, *EXTENDED])
def test_type_and_schema_accept_the_same_values(revision: str) -> None:
    def agree(subject: oracle.Subject, value: Any, random: Random) -> None:
        assert oracle.accepts(revision, subject.pointer)(value), "the instance itself is wrong"
        assert disagreement(revision, subject, value, exact=True) is None
        changes = list(edits(value, depth=4))
        for change in random.sample(changes, min(8, len(changes))):
            changed = change.of(value)
            assert disagreement(revision, subject, changed, exact=False) is None

    try_subjects(revision, agree, complete=False, examples=tables.count(3, 100))


def test_an_undeclared_member_is_no_declared_one_though_it_is_called_like_its_attribute() -> None:
    tried = 0
    subjects = [
        (any_revision, subject)
        for any_revision in REVISIONS
        for subject in oracle.subjects(any_revision).values()
    ]
    for revision, subject in subjects:
        model = getattr(load(revision).models, subject.name)
        for attribute, field in getattr(model, "model_fields", {}).items():
            wire_name = field.alias or attribute
            if wire_name == attribute:
                continue
            tried += 1
            least = oracle.smallest_request(revision, subject)
            without = {
                member: least_value for member, least_value in least.items() if member != wire_name
            }
            for value in ({**least, attribute: 5}, {**without, attribute: None}):
                assert disagreement(revision, subject, value, exact=True) is None
            read = model.from_wire({**least, attribute: 5})
            assert (attribute in read.model_fields_set) == (wire_name in least)
            assert getattr(read, attribute) == getattr(model.from_wire(least), attribute)
            assert read.model_extra[attribute] == 5
    assert tried > 500


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
@pytest.mark.parametrize("revision", [*REVISIONS, *EXTENDED])
def test_type_and_schema_agree_on_every_small_change(revision: str) -> None:
    """All members present, and changes to the whole and to each member, one at a time."""

    def agree(subject: oracle.Subject, value: Any, random: Random) -> None:
        assert disagreement(revision, subject, value, exact=True) is None
        wrong = REPLACEMENTS if EVERYTHING else value_of_each_type(random)
        for change in edits(value, 1, wrong):
            changed = change.of(value)
            assert disagreement(revision, subject, changed, exact=False) is None

    try_subjects(revision, agree, complete=True, examples=tables.count(2, 4))


@pytest.mark.parametrize("revision", REVISIONS)
def test_there_is_a_type_for_every_definition_and_nameless_object(revision: str) -> None:
    models = load(revision).models
    exported = set(models.__all__)
    subjects = oracle.subjects(revision).keys()
    assert subjects <= exported
    # Nameless unions with a tag get names too, so that the tag appears once.
    assert not [name for name in exported - subjects if isinstance(getattr(models, name), type)]

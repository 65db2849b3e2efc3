"""The missing translation rules of a step between two revisions, each with possible choices.

The choices are found by trying: a choice decides its difference.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_protogen.base.canonical import canonical
from mcp_protogen.pipeline.derive import fillings
from mcp_protogen.pipeline.derive.revision import DerivedRevision
from mcp_protogen.pipeline.inputs.todo import CHOICES, TODO
from mcp_protogen.pipeline.inputs.translations import (
    DIRECTIONS,
    StepDirection,
    Translation,
    TranslationAction,
    Verb,
    translation_of,
)
from mcp_protogen.pipeline.normalise.references import definition_name
from mcp_protogen.pipeline.plans.tables import find_unsettled

Json = dict[str, Any]
_Open = Mapping[tuple[StepDirection, str], str]

# Values to try where the schema lists none: the plainest one of each kind.
_PLAINEST: tuple[Any, ...] = ("", 0, False, [], {})


@dataclass(frozen=True, slots=True)
class RevisionPair:
    """Two revisions, one after the other."""

    older: DerivedRevision
    newer: DerivedRevision

    def open(self, translation: Translation) -> _Open:
        """Return the undecided differences, by direction and place."""
        return find_unsettled(self.older.ir, self.newer.ir, (translation,))


def translation_file(own: Json | None, step: RevisionPair, usual: Sequence[Json] = ()) -> Json:
    """Return the rules file of the newer revision, with an entry for each undecided difference.

    An unedited entry is removed once its difference is gone. A new file begins with the `usual`
    rules.
    """
    newer = step.newer.ir.id
    new: Json = {"older": step.older.ir.id, "became": {}, "rules": [*usual], "errors": []}
    document = own or new
    translation = translation_of(document, newer, "")
    found = step.open(translation)
    entries = [entry for entry in document["rules"] if not _is_moot(entry, found)]
    named = {key for entry in entries for key in _open_places(entry)}
    missing = {key: what for key, what in found.items() if key not in named}
    return {**document, "rules": [*entries, *_entries(missing, translation, step)]}


def _is_moot(entry: Json, found: _Open) -> bool:
    """Return whether an entry is an unedited draft, and its difference is decided."""
    ours = entry["reason"] == TODO and entry["source"] == TODO
    places = list(_open_places(entry))
    return ours and bool(places) and not any(key in found for key in places)


def _open_places(entry: Json) -> Iterator[tuple[StepDirection, str]]:
    for direction in DIRECTIONS:
        for at in entry["at"] if CHOICES in entry.get(direction, ()) else ():
            yield direction, at


def _entries(missing: _Open, translation: Translation, step: RevisionPair) -> Iterator[Json]:
    added = _find_settled("add", missing, translation, step)
    kept = _find_settled("keep", missing, translation, step)
    grouped: dict[bytes, Json] = {}
    for (direction, at), what in missing.items():
        there = step.newer if direction == "up" else step.older
        values = _values(at, there) if (direction, at) in added else []
        choices: list[Json] = [{"add": value} for value in values]
        if not choices and (direction, at) in kept:
            choices = [{"keep": True}]
        if choices:
            action = {"difference": what, CHOICES: choices}
            key = canonical([direction, at.partition(".")[2], action])
            entry: Json = {"at": [], direction: action, "reason": TODO, "source": TODO}
            grouped.setdefault(key, entry)["at"].append(at)
    yield from grouped.values()


def _find_settled(
    do: Verb, missing: _Open, translation: Translation, step: RevisionPair
) -> set[tuple[StepDirection, str]]:
    """Return the differences that a translation rule with this verb would decide."""
    tried = tuple(
        TranslationAction(at, direction, do, None, (), False, "", "#") for direction, at in missing
    )
    rest = step.open(replace(translation, actions=(*translation.actions, *tried)))
    return missing.keys() - rest.keys()


def _values(at: str, there: DerivedRevision) -> list[Any]:
    """Return values that a missing member may have."""
    owner, _, member = at.partition(".")
    definitions: Json = there.schema["$defs"]
    schema = definitions.get(owner, {}).get("properties", {}).get(member)
    if schema is None:
        return []
    listed = schema
    while "$ref" in listed:
        listed = definitions[definition_name(listed["$ref"])]
    values = [listed["const"]] if "const" in listed else listed.get("enum", _PLAINEST)
    return [value for value in values if fillings.fits(value, schema, definitions)]

"""The missing translation rules of a step between two revisions, each with possible choices.

The choices are found by trying: a choice decides its difference.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.instep.drafts.similar_names import (
    Key,
    find_renamed_members,
    find_renamed_methods,
    find_renamed_types,
)
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
from mcp_protogen.runtime.translation.conversions import not_expressible

Json = dict[str, Any]
_Open = Mapping[Key, str]
_Choices = Mapping[Key, list[Json]]

# Values to try where the schema lists none: the plainest one of each kind.
_PLAINEST: tuple[Any, ...] = ("", 0, False, [], {})

# The verbs that may decide a difference, the most telling first.
_TRIED: tuple[Verb, ...] = ("add", "keep", "apply")


@dataclass(frozen=True, slots=True)
class RevisionPair:
    """Two revisions, one after the other."""

    older: DerivedRevision
    newer: DerivedRevision

    def open(self, translation: Translation) -> _Open:
        """Return the undecided differences, by direction and place."""
        return find_unsettled(self.older.ir, self.newer.ir, translation)


def translation_file(own: Json | None, step: RevisionPair, usual: Sequence[Json] = ()) -> Json:
    """Return the rules file of the newer revision, with an entry for each undecided difference.

    An unedited entry is removed once its difference is gone. A new file begins with the `usual`
    rules.
    """
    older, newer = step.older.ir, step.newer.ir
    new: Json = {"older": older.id, "became": {}, "rules": [*usual], "errors": []}
    document = own or new
    translation = translation_of(document, newer.id, "")
    members = dict(_renamed_members(translation, step))
    moved = set(_places_of_moves(members))
    found = {key: what for key, what in step.open(translation).items() if key not in moved}
    found |= {key: _describe_lack(*key, step) for key in members}
    entries = [entry for entry in document["rules"] if not _is_moot(entry, found)]
    named = {key for entry in entries for key in _open_places(entry)}
    missing = {key: what for key, what in found.items() if key not in named}
    added = _entries(missing, members, translation, step)
    return {
        **document,
        "became": _names(document["became"], step),
        "rules": [*entries, *added],
    }


def _names(decided: Json, step: RevisionPair) -> Json:
    """Return the new names of types and methods, with choices for those that may have one."""
    older, newer = step.older.ir, step.newer.ir
    alike = {**find_renamed_types(older, newer), **find_renamed_methods(older, newer)}
    kept = {old: new for old, new in decided.items() if old in alike or not is_object(new)}
    asked = {
        old: {"difference": f"{newer.id} has no {old}: renamed, or removed?", CHOICES: [*new, None]}
        for old, new in alike.items()
    }
    return {**asked, **kept}


def _describe_lack(direction: StepDirection, at: str, step: RevisionPair) -> str:
    there = step.newer if direction == "up" else step.older
    return f"{there.ir.id} has no {at.partition('.')[2]} here: renamed, or removed?"


def _renamed_members(
    translation: Translation, step: RevisionPair
) -> Iterator[tuple[Key, list[Json]]]:
    """Yield the members that may be renamed and that no rule decides, with the choices."""
    decided = {
        (action.direction, at)
        for action in translation.actions
        for at in (action.at, *(f"{action.at}.{member}" for member in action.settles))
    }
    renamed = find_renamed_members(step.older.ir, step.newer.ir, translation.became)
    for place, others in renamed:
        if place not in decided:
            moves: list[Json] = [{"move": member} for member in others]
            yield place, [*moves, {"drop": "lossy"}, {"drop": "harmless"}]


def _is_moot(entry: Json, found: _Open) -> bool:
    """Return whether an entry is an unedited draft, and its difference is decided."""
    ours = entry["reason"] == TODO and entry["source"] == TODO
    places = list(_open_places(entry))
    return ours and bool(places) and not any(key in found for key in places)


def _open_places(entry: Json) -> Iterator[Key]:
    for direction in DIRECTIONS:
        for at in entry["at"] if CHOICES in entry.get(direction, ()) else ():
            yield direction, at


def _places_of_moves(members: _Choices) -> Iterator[Key]:
    """Yield the places that a renamed member may fill."""
    for (direction, at), choices in members.items():
        for choice in choices:
            if "move" in choice:
                yield direction, f"{at.partition('.')[0]}.{choice['move']}"


def _entries(
    missing: _Open,
    members: _Choices,
    translation: Translation,
    step: RevisionPair,
) -> Iterator[Json]:
    settled = {verb: _find_settled(verb, missing, translation, step) for verb in _TRIED}
    grouped: dict[bytes, Json] = {}
    for (direction, at), what in missing.items():
        there = step.newer if direction == "up" else step.older
        found = (
            [{verb: value} for value in _values(verb, at, there)]
            for verb in _TRIED
            if (direction, at) in settled[verb]
        )
        if choices := members.get((direction, at)) or next(filter(None, found), None):
            action = {"difference": what, CHOICES: choices}
            key = canonical([direction, at.partition(".")[2], action])
            entry: Json = {"at": [], direction: action, "reason": TODO, "source": TODO}
            grouped.setdefault(key, entry)["at"].append(at)
    yield from grouped.values()


def _find_settled(
    do: Verb, missing: _Open, translation: Translation, step: RevisionPair
) -> set[Key]:
    """Return the differences that a translation rule with this verb would decide."""
    tried = tuple(
        TranslationAction(at, direction, do, None, (), False, "", "#") for direction, at in missing
    )
    rest = step.open(replace(translation, actions=(*translation.actions, *tried)))
    return missing.keys() - rest.keys()


def _values(verb: Verb, at: str, there: DerivedRevision) -> list[Any]:
    if verb == "apply":
        # Any other function is for certain types; this one refuses each value, so it fits arms.
        return [not_expressible.__name__ if at.endswith("]") else TODO]
    return [True] if verb == "keep" else _added_values(at, there)


def _added_values(at: str, there: DerivedRevision) -> list[Any]:
    """Return values that a missing member may have; one TODO if only a person knows any."""
    owner, _, member = at.partition(".")
    definitions: Json = there.schema["$defs"]
    schema = definitions.get(owner, {}).get("properties", {}).get(member)
    if schema is None:
        return []
    listed = schema
    while "$ref" in listed:
        listed = definitions[definition_name(listed["$ref"])]
    values = [listed["const"]] if "const" in listed else listed.get("enum", _PLAINEST)
    return [value for value in values if fillings.fits(value, schema, definitions)] or [TODO]

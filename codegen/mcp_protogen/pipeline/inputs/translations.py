"""The translation rules between adjacent revisions, each with its reason, as actions.

The `translation.json` of a revision has the rules of the step from the one before it. A rule has
places and, for one or both directions, an action. A place is a type, a member (`Type.member`) or an
arm of a union (`Type[tag]`) of the newer revision. `became` has the types and methods of the older
revision with another name in the newer one, or null for those that went; a name that begins with a
capital letter is a type.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, did_you_mean, raise_errors, raising
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.inputs.facts import conditions, origin_of
from mcp_protogen.pipeline.inputs.file_formats import check_format
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.inputs.snapshot import structure_in
from mcp_protogen.pipeline.inputs.todo import CHOICES
from mcp_protogen.pipeline.ir import ConditionIR

Json = dict[str, Any]
StepDirection = Literal["up", "down"]
Verb = Literal["keep", "drop", "move", "add", "apply", "finish"]

DIRECTIONS: tuple[StepDirection, ...] = get_args(StepDirection)
_VERBS: tuple[Verb, ...] = get_args(Verb)


@dataclass(frozen=True, slots=True)
class TranslationAction:
    """The action at one place in one direction.

    `do` is the verb: `keep` (in spite of differences), `drop` ("lossy" or "harmless"), `move` (the
    new path), `add` (the value), or `apply` and `finish` (a function of the runtime, before or
    after all other steps). `settles` are members whose differences the function handles; `whole`
    means all.
    """

    at: str
    direction: StepDirection
    do: Verb
    value: Any
    settles: tuple[str, ...]
    whole: bool
    reason: str
    place: str
    """The place of the translation rule: file and JSON pointer."""
    when: tuple[ConditionIR, ...] = ()
    """The only case: one of these holds for the object with the member."""


@dataclass(frozen=True, slots=True)
class CodeChange:
    """The translation of an error code of a method, or of all methods if its name is empty.

    It counts where the request and the error's data meet a condition of `params` and of `data`.
    `add` are members that the data gets; `retry` is the member with the delay, and its unit, at the
    end without a fact for it.
    """

    names: tuple[str, ...]
    """The method in the newer revision, and its names in the older one."""
    direction: StepDirection
    was: int
    becomes: int
    reason: str
    place: str
    params: tuple[ConditionIR, ...] = ()
    data: tuple[ConditionIR, ...] = ()
    add: Mapping[str, Any] = field(default_factory=dict[str, Any])
    retry: tuple[str, str] | None = None

    @property
    def method(self) -> str:
        return self.names[0]


@dataclass(frozen=True, slots=True)
class UndecidedAction:
    """A place without a chosen action in one direction."""

    at: str
    direction: StepDirection
    place: str
    """The place of the choices: file and JSON pointer."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The actions of one step, from `older` to `newer`.

    `became` are the renamed types and methods, `removed` those that went, also if another one took
    the name; `choices` and `open_names` are undecided.
    """

    older: str
    newer: str
    became: Mapping[str, str]
    actions: tuple[TranslationAction, ...]
    errors: tuple[CodeChange, ...]
    choices: tuple[UndecidedAction, ...] = ()
    open_names: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    place: str = ""
    """The file, as problems name it."""
    edited: bool = False
    """Whether one end has a schema of the user, and the rules are ours, about the pinned one."""


def place_of(revision: str) -> str:
    """Return the file of translation rules of a revision, as problems name it."""
    return f"schema/{revision}/translation.json"


def load(folder: Path, revision: str) -> Translation | None:
    """Return the translation of the step to `revision`; None without a file."""
    file = folder / revision / "translation.json"
    if not file.is_file():
        return None
    place = place_of(revision)
    return translation_of(parse_json(file.read_bytes(), place), revision, place)


def translation_of(document: Json, revision: str, place: str) -> Translation:
    """Return the translation in a document with the format of `translation.json`."""
    actions = tuple(
        action
        for number, entry in enumerate(document["rules"])
        for action in _read_actions(entry, f"{place}#/rules/{number}")
    )
    errors = tuple(
        _read_code(entry, direction, f"{place}#/errors/{number}/{direction}", document["became"])
        for number, entry in enumerate(document["errors"])
        for direction in DIRECTIONS
        if direction in entry
    )
    choices = tuple(
        UndecidedAction(at, direction, f"{place}#/rules/{number}/{direction}")
        for number, entry in enumerate(document["rules"])
        for direction in DIRECTIONS
        if CHOICES in entry.get(direction, ())
        for at in entry["at"]
    )
    names: Json = document["became"]
    return Translation(
        document["older"],
        revision,
        {old: new for old, new in names.items() if isinstance(new, str)},
        actions,
        errors,
        choices,
        tuple(old for old, new in names.items() if is_object(new)),
        tuple(old for old, new in names.items() if new is None),
        place,
    )


def _read_actions(entry: Json, place: str) -> Iterator[TranslationAction]:
    for direction in DIRECTIONS:
        action: Json | None = entry.get(direction)
        if action is None or CHOICES in action:
            continue
        do: Verb = next(verb for verb in _VERBS if verb in action)
        settles = tuple(action.get("settles", ()))
        is_whole: bool = action.get("whole", False)
        when = conditions(action.get("when", ()))
        for at in entry["at"]:
            yield TranslationAction(
                at, direction, do, action[do], settles, is_whole, entry["reason"], place, when
            )


def _read_code(entry: Json, direction: StepDirection, place: str, became: Json) -> CodeChange:
    code: Json = entry[direction]
    when, retry = code.get("when", {}), code.get("retry")
    older = (old for old, new in became.items() if new == entry["method"])
    return CodeChange(
        (entry["method"], *older),
        direction,
        code["was"],
        code["becomes"],
        entry["reason"],
        place,
        conditions(when.get("params", ())),
        conditions(when.get("data", ())),
        code.get("add", {}),
        retry and (retry["member"], retry["unit"]),
    )


def all_steps(folder: Path, options: GenerationOptions) -> tuple[Translation, ...]:
    """Return the steps from the oldest revision of a package to its newest, oldest first.

    A revision that stays as it is keeps its step, which leads to it from the pinned one before.
    """
    pins = load_pins(folder)
    before = [[pin for pin in pins if pin < kept] for kept in options.kept]
    ends = {*options.revisions, *(max(older) for older in before if older)}
    return tuple(
        step for pair in pairwise(sorted(ends)) for step in steps_between(folder, *pair, options)
    )


def steps_between(
    folder: Path, older: str, newer: str, options: GenerationOptions
) -> tuple[Translation, ...]:
    """Return the steps from `older` to `newer` over all revisions between them, oldest first.

    The ends of a step are neighbours: what a file says is older, if that is known and not too old,
    or else the revision before. Raise `ProblemError` for malformed translation rules of the user.
    """
    known = {*load_pins(folder), *options.revisions, older}
    steps: list[Translation] = []
    at = newer
    while at > older:
        file = options.rules.get(at)
        step = load(folder, at) if file is None else _user_translation(file, at)
        step = step or Translation(_origin(folder, at, options), at, {}, (), ())
        between = [revision for revision in known if older <= revision < at]
        before = step.older if step.older in between else max(between)
        edited = file is None and not options.schemas.keys().isdisjoint((before, at))
        steps.append(replace(step, older=before, edited=edited))
        at = before
    return tuple(reversed(steps))


def names_since(
    folder: Path, older: str, newer: str, options: GenerationOptions
) -> Mapping[str, str]:
    """Return the types and methods of `older` with another name in `newer`, over all steps."""
    names: dict[str, str] = {}
    for step in steps_between(folder, older, newer, options):
        first = {old: new for old, new in step.became.items() if old not in names.values()}
        names = first | {old: step.became.get(name, name) for old, name in names.items()}
    return names


def first_names(names: Mapping[str, str], revision: str) -> Mapping[str, str]:
    """Return the first names of what has another one in a revision; see `names_since`."""
    # What has an old name of another thing is unknown to earlier revisions.
    others = {old: f"{old} of {revision}" for old in names}
    return others | {new: old for old, new in names.items()}


def _origin(folder: Path, revision: str, options: GenerationOptions) -> str:
    """Return the revision that a schema without translation rules resembles, if any."""
    file = options.schemas.get(revision)
    if file is None:
        return ""
    return origin_of(folder, revision, structure_in(file.content, file.name)) or ""


def _user_translation(file: GivenFile, revision: str) -> Translation:
    return read_translation(parse_json(file.content, file.name), revision, file.name)


def read_translation(document: Any, newer: str, place: str) -> Translation:
    """Return the translation in a document; raise `ProblemError` for malformed rules."""
    problems = check_format(document, "translation", place)
    raise_errors(problem._replace(code="bad-rule") for problem in problems)
    translation = translation_of(document, newer, place)
    _refuse_unknown_functions(translation)
    return translation


@raising
def _refuse_unknown_functions(translation: Translation) -> Iterator[Problem]:
    from mcp_protogen.runtime.translation.conversions import CONVERSIONS

    for action in translation.actions:
        if action.do in ("apply", "finish") and action.value not in CONVERSIONS:
            hint = did_you_mean(action.value, CONVERSIONS)
            message = f"the runtime has no function {action.value!r:.60}"
            place, _, pointer = action.place.partition("#")
            yield Problem("bad-rule", message, place, pointer, hint)

"""The IR of one revision, from its inputs: patch, normalise, derive."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_protogen.base import jsonpointer, names
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.pipeline.derive import crosscheck
from mcp_protogen.pipeline.derive import methods as method_tables
from mcp_protogen.pipeline.derive import types as type_system
from mcp_protogen.pipeline.derive.module_names import refuse_collisions
from mcp_protogen.pipeline.derive.places import find_places, with_places
from mcp_protogen.pipeline.derive.skeleton import MESSAGE_UNIONS, Skeleton, skeleton_of
from mcp_protogen.pipeline.derive.types import Context
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.pipeline.normalise import dialect, normalise, references
from mcp_protogen.pipeline.normalise.extension_definitions import with_absorbed

Json = dict[str, Any]

_EMPTY: Json = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class DerivedRevision:
    """The IR of a revision, its normalised schema and facts, and warnings."""

    ir: RevisionIR
    schema: Json
    facts: Facts
    warnings: tuple[Problem, ...]


def derive_revision(source: RevisionSource, *, for_target: bool = False) -> DerivedRevision:
    """Return the IR of one revision; raise `ProblemError` with all problems.

    `for_target` is as in `normalise_revision`.
    """
    skeleton, losses = normalise_revision(source, for_target=for_target)
    definitions = skeleton.definitions
    mismatches = crosscheck.compare(skeleton, source.facts, source.facts_place, source.facts_hint)
    raise_errors(mismatches)
    facts = crosscheck.drop_facts(source.facts, mismatches)
    context = Context(facts, source.descriptions, source.place)
    types = type_system.types(definitions, context)
    by_name = {str(type_.name): type_ for type_ in types}
    methods = method_tables.methods(skeleton, by_name, context)
    places, unfit = find_places(facts, methods, by_name)
    misplaced = crosscheck.problems_of(unfit, facts, source.facts_place, source.facts_hint)
    raise_errors(misplaced)
    revision = facts.revision
    ir = RevisionIR(
        id=revision,
        module=names.module_name(revision),
        era=facts.era,
        rules=method_tables.rules(context),
        types=tuple(with_places(type_, places) for type_ in types),
        methods=methods,
        capabilities=method_tables.capabilities(skeleton, context),
        errors=method_tables.errors(definitions, context),
        meta_keys=method_tables.meta_keys(context),
        places=places,
        caching=method_tables.caching(context),
        absorbs=tuple(fact["identifier"] for fact in facts.absorbed.values()),
    )
    refuse_collisions(ir, source.place)
    warnings = (*source.notes, *losses, *mismatches, *misplaced)
    return DerivedRevision(ir, skeleton.schema, facts, warnings)


def normalise_revision(
    source: RevisionSource, *, for_target: bool = False
) -> tuple[Skeleton, tuple[Problem, ...]]:
    """Return the patched and normalised schema of a revision, with warnings about losses.

    `for_target` keeps the published types: aliases of objects stay aliases, and marks
    are as in `normalise`; `x-inline` marks types without a definition in the schema. Raise
    `ProblemError` with all problems if its messages cannot be methods.
    """
    patched = source.apply_patches()
    _require_messages(patched, source.place)
    hoisted, origins = references.hoist(with_absorbed(patched, source.facts))
    try:
        skeleton, losses = _normalise(hoisted, source, for_target=for_target)
    except ProblemError as error:
        problems = _add_hidden_problems(error.problems, hoisted, source)
        raise ProblemError(*references.restore_places(problems, origins)) from None
    if for_target:
        type_names = set(map(names.type_name, patched["$defs"]))
        definitions = {
            name: schema if name in type_names else {**schema, "x-inline": True}
            for name, schema in skeleton.definitions.items()
        }
        skeleton = replace(skeleton, schema={**skeleton.schema, "$defs": definitions})
    return skeleton, tuple(references.restore_places(losses, origins))


def _normalise(
    hoisted: Json, source: RevisionSource, *, for_target: bool = False
) -> tuple[Skeleton, tuple[Problem, ...]]:
    plain, unread = dialect.plain(hoisted, source.facts.json_schemas, source.place)
    unions = {union for union, _, _ in MESSAGE_UNIONS}
    if for_target:
        unions |= {name for name, schema in plain["$defs"].items() if schema.keys() == {"$ref"}}
    normalised, losses = normalise(plain, source.facts, source.place, unions, marks=for_target)
    skeleton = skeleton_of(normalised, source.place)
    raise_errors(method_tables.find_without_params(skeleton, source.facts, source.place))
    return skeleton, (*unread, *losses)


def _add_hidden_problems(
    problems: Sequence[Problem], hoisted: Json, source: RevisionSource
) -> Sequence[Problem]:
    """Return these problems, and those that later steps find in the other definitions.

    A step stops at its own problems; it goes on without the definitions that have them. A schema
    that is too large is not read again.
    """
    found, new = list(problems), list(problems)
    definitions: Json = dict(hoisted["$defs"])
    left_out: set[str] = set()
    while new and all(problem.code != "unsupported-schema" for problem in new):
        paths = [tuple(jsonpointer.split(problem.pointer)[1:4]) for problem in new]
        left_out.update(path[0] for path in paths if path and path[1:2] != ("anyOf",))
        definitions = {
            name: _EMPTY if name in left_out else _without_arms(name, schema, left_out, paths)
            for name, schema in definitions.items()
        }
        new = []
        try:
            _normalise({**hoisted, "$defs": definitions}, source)
        except ProblemError as error:
            untouched = definitions.keys() - left_out
            new = [
                problem
                for problem in error.problems
                if not untouched.isdisjoint(jsonpointer.split(problem.pointer)[1:2])
                and problem not in found
            ]
        found += new
    return found


def _without_arms(
    name: str, schema: Any, left_out: Collection[str], bad: Collection[tuple[str, ...]]
) -> Any:
    """Return a definition with a good arm of its union in place of each bad one."""
    arms: list[Json] = schema.get("anyOf", []) if is_object(schema) else []
    names = {references.PREFIX + owner for owner in left_out}
    good = [
        not (is_object(arm) and arm.get("$ref") in names)
        and (name, "anyOf", str(number)) not in bad
        for number, arm in enumerate(arms)
    ]
    if all(good):
        return schema
    if not any(good):
        return _EMPTY
    other = arms[good.index(True)]
    kept = [arm if is_good else other for arm, is_good in zip(arms, good, strict=True)]
    return {**schema, "anyOf": kept}


def _require_messages(schema: Json, place: str) -> None:
    """Raise `ProblemError` if the message unions are missing."""
    definitions: Json = schema.get("$defs", {})
    required = [union for union, _, kind in MESSAGE_UNIONS if kind != "embedded"]
    missing = [union for union in required if union not in definitions]
    # A revision may have no requests from servers, but always has some from clients.
    if "ClientRequest" in missing or len(missing) > 1:
        raise ProblemError(
            Problem(
                "no-message-unions",
                f"the schema does not define {' or '.join(missing)}",
                place,
                "/$defs",
                "is this the schema.json of an MCP revision?",
            )
        )

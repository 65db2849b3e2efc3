"""One extension from its inputs to its IR: what the core revision has beyond itself with it.

The definitions of an extension are merged into the core schema, and its facts into the facts, so
that one pipeline reads both; what the core has without it is not the extension's.
"""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp_protogen.base import names
from mcp_protogen.base.jsonvalue import merge_patch
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.derive import extension_checks, skeleton
from mcp_protogen.pipeline.derive.inheritance import inheriting
from mcp_protogen.pipeline.derive.revision import Derived, derive_revision
from mcp_protogen.pipeline.inputs import patches
from mcp_protogen.pipeline.inputs.extensions import ExtensionSource, FactsOfRevision
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.ir import (
    ROLES,
    CapabilityIR,
    ClaimIR,
    ExtensionIR,
    MembersIR,
    MethodIR,
    RequirementIR,
    RevisionIR,
    Role,
)
from mcp_protogen.pipeline.normalise.extension_definitions import own_definitions
from mcp_protogen.pipeline.normalise.references import to

Json = dict[str, Any]

# Facts of an extension that say the same things as those of a revision.
_MERGED = ("enums", "errors", "open_strings", "unions")
# Members of the facts of a method that only extensions have.
_OF_EXTENSIONS = frozenset({"declared_by", "name", "revisions", "setting"})


@dataclass(frozen=True, slots=True)
class DerivedExtension:
    """The IR of an extension in one revision, and warnings.

    `merged` are the inputs of the revision with the extension in it, from which `derived` is, and
    `own` are the definitions there that are the extension's.
    """

    ir: ExtensionIR
    warnings: tuple[Problem, ...]
    merged: RevisionSource
    derived: Derived
    own: frozenset[str]


def derive_extension(
    extension: ExtensionSource, core: RevisionSource, revision: RevisionIR
) -> DerivedExtension:
    """Return the IR of an extension in a revision, which is `revision` without it.

    Raise `ProblemError` with everything that is wrong.
    """
    mended = patches.apply(extension.schema, extension.ledger, extension.ledger_place)
    own = own_definitions(_needed(mended, extension), core.schema, extension.place)
    held = extension.facts_of(revision.id)
    extension_checks.refuse_unknown(extension, held, own, revision)
    own = _of_revision(extension, held, own)
    merged = _merged(extension, held, core, own)
    derived = derive_revision(merged)
    types = inheriting(derived.ir.types, own)
    extension_checks.refuse_unfit(extension, held, types, revision)
    facts = extension.facts
    ir = ExtensionIR(
        name=extension.name,
        module=names.extension_module(extension.name),
        identifier=extension.identifier,
        ir=_beyond(revision, replace(derived.ir, types=types), extension),
        core=revision,
        claims=tuple(
            ClaimIR(one["method"], one["result_type"], names.class_name(one["type"]))
            for one in held.claims.values()
        ),
        members=tuple(
            MembersIR(one["method"], names.class_name(one["from"])) for one in held.members.values()
        ),
        names={
            method: fact["name"] for method, fact in sorted(held.methods.items()) if "name" in fact
        },
        settings={role: facts["settings"][role] for role in ROLES if _binds(role, extension)},
    )
    warnings = tuple(one for one in derived.warnings if one.place == extension.place)
    return DerivedExtension(ir, warnings, merged, derived, frozenset(own))


def _needed(schema: Json, extension: ExtensionSource) -> Json:
    """Return a schema with those of its definitions that the facts name; all, if they name none.

    Raise `ProblemError` (`unknown-type`) for each name that it does not have.
    """
    if "types" not in extension.facts:
        return schema
    definitions: Json = schema.get("$defs", {})
    wanted: list[str] = extension.facts["types"]["names"]
    extension_checks.refuse_missing(wanted, definitions, extension)
    return {**schema, "$defs": {name: definitions[name] for name in wanted}}


def _beyond(core: RevisionIR, merged: RevisionIR, extension: ExtensionSource) -> RevisionIR:
    """Return what a revision has with an extension and not without."""
    types = {type_.name for type_ in core.types}
    methods = {method.method for method in core.methods}
    codes = {error.code for error in core.errors}
    own = [method for method in merged.methods if method.method not in methods]
    return replace(
        merged,
        types=tuple(one for one in merged.types if one.name not in types),
        methods=tuple(_gated(one, extension) for one in own),
        capabilities=tuple(
            one for role in ROLES if _binds(role, extension) for one in _declared(role, extension)
        ),
        errors=tuple(one for one in merged.errors if one.code not in codes),
        meta_keys=(),
    )


def _of_revision(extension: ExtensionSource, held: FactsOfRevision, own: Json) -> Json:
    """Return the definitions that mean something in a revision, with what they add to the core."""
    elsewhere = {
        fact["message"]
        for method, fact in extension.facts.get("methods", {}).items()
        if method not in held.methods
    }
    found = {name: schema for name, schema in own.items() if name not in elsewhere}
    for member in held.members.values():
        name = member["from"]
        found[name] = {"allOf": [to(member["type"]), own[name]]}
    return found


def _binds(role: Role, extension: ExtensionSource) -> bool:
    return role in extension.facts["settings"]


def _merged(
    extension: ExtensionSource, held: FactsOfRevision, core: RevisionSource, own: Json
) -> RevisionSource:
    schema = core.patched()
    definitions: Json = {**schema["$defs"], **copy.deepcopy(own)}
    for fact in held.methods.values():
        for sender in fact["senders"]:
            _send(fact["message"], sender, fact["kind"], definitions)
    facts: Json = {name: extension.facts[name] for name in _MERGED if name in extension.facts}
    facts["methods"] = {
        method: {
            "since": core.facts.revision,
            **{key: value for key, value in fact.items() if key not in _OF_EXTENSIONS},
        }
        for method, fact in held.methods.items()
    }
    texts: dict[str, Mapping[str, str]] = dict(core.descriptions.texts)
    for kind, entries in extension.descriptions.items():
        texts[kind] = {**texts.get(kind, {}), **entries}
    return replace(
        core,
        schema={**schema, "$defs": definitions},
        ledger=(),
        own_patches=(),
        facts=replace(core.facts, document=merge_patch(core.facts.document, facts)),
        descriptions=replace(
            core.descriptions, texts=texts, own={**core.descriptions.own, **extension.own}
        ),
        place=extension.place,
        facts_place=extension.facts_place,
        facts_hint="docs/extensions.md says what is in the facts of an extension",
        notes=(),
    )


def _send(message: str, sender: Role, kind: str, definitions: Json) -> None:
    union = next(name for name, role, of in skeleton.MESSAGE_UNIONS if (role, of) == (sender, kind))
    schema: Json = definitions.get(union, {"anyOf": []})
    arms: list[Json] = schema.get("anyOf", [schema])
    definitions[union] = {"anyOf": [*arms, to(message)]}


def _gated(method: MethodIR, extension: ExtensionSource) -> MethodIR:
    """Return a method with the sides that have to declare the extension for it."""
    fact = extension.facts["methods"].get(method.method)
    if fact is None:
        message = f"{method.method} has no facts"
        hint = "add them, or take the message out of the schema with a patch"
        problem = Problem("derived-facts", message, extension.facts_place, "/methods", hint)
        raise ProblemError(problem)
    # The server first: a client need not declare what the server does not have.
    requires = [
        RequirementIR(
            capability=one.constant,
            role=role,
            path=one.path,
            level="MUST",
            sender=sender,
            when=(),
            source=fact["source"],
        )
        for role in reversed(ROLES)
        if role in fact["declared_by"]
        for sender in method.senders
        for one in [_capability(role, extension, fact if role != sender else {})]
    ]
    return replace(method, requires=(*requires, *method.requires))


def _declared(role: Role, extension: ExtensionSource) -> Iterator[CapabilityIR]:
    """Yield what a role may declare: the extension, and settings that methods need."""
    yield _capability(role, extension, {})
    methods: Mapping[str, Json] = extension.facts.get("methods", {})
    settings = {
        fact["setting"]: fact
        for fact in methods.values()
        if "setting" in fact and role in fact["declared_by"] and {role} != {*fact["senders"]}
    }
    for _, fact in sorted(settings.items()):
        yield _capability(role, extension, fact)


def _capability(role: Role, extension: ExtensionSource, fact: Json) -> CapabilityIR:
    source, setting = extension.facts["source"], fact.get("setting")
    doc = f"The {role} has the extension `{extension.identifier}`."
    settings: tuple[str, ...] = ()
    if setting is not None:
        source, settings = fact["source"], (setting,)
        doc = f"The {role} has `{setting}` of the extension `{extension.identifier}`."
    return CapabilityIR(
        constant=names.constant(role, extension.name, *settings),
        role=role,
        path=("extensions", extension.identifier, *settings),
        flag=bool(settings),
        implied=False,
        source=source,
        doc=doc,
    )

"""One extension from its inputs to its IR: what the core revision has beyond itself with it.

The definitions of an extension are merged into the core schema, and its facts into the facts, so
that one pipeline reads both; what the core has without it is not the extension's.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp_protogen.base import names
from mcp_protogen.base.jsonvalue import merge_patch
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.derive import extension_checks, skeleton
from mcp_protogen.derive.inheritance import inheriting
from mcp_protogen.derive.revision import derive_revision
from mcp_protogen.inputs import patches
from mcp_protogen.inputs.descriptions import Descriptions
from mcp_protogen.inputs.extensions import ExtensionSource
from mcp_protogen.inputs.sources import RevisionSource
from mcp_protogen.ir import (
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
from mcp_protogen.normalise.extension import own_definitions
from mcp_protogen.normalise.references import to

Json = dict[str, Any]

# Facts of an extension that say the same things as those of a revision.
_MERGED = ("enums", "errors", "open_strings", "unions")
# Members of the facts of a method that only extensions have.
_OF_EXTENSIONS = frozenset({"declared_by", "name", "revisions"})


@dataclass(frozen=True, slots=True)
class DerivedExtension:
    """The IR of an extension in one revision, and warnings."""

    ir: ExtensionIR
    warnings: tuple[Problem, ...]


def derive_extension(
    extension: ExtensionSource, core: RevisionSource, revision: RevisionIR
) -> DerivedExtension:
    """Return the IR of an extension in a revision, which is `revision` without it.

    Raise `ProblemError` with everything that is wrong.
    """
    mended = patches.apply(extension.schema, extension.ledger, extension.ledger_place)
    own = own_definitions(mended, core.schema, extension.place)
    raise_errors(tuple(extension_checks.unknown(extension, own, revision)))
    own = _of_revision(extension, own, revision.id)
    derived = derive_revision(_merged(extension, core, own))
    types = inheriting(derived.ir.types, own)
    raise_errors(tuple(extension_checks.unfit(extension, types, revision)))
    facts = extension.facts
    ir = ExtensionIR(
        name=extension.name,
        identifier=extension.identifier,
        ir=_beyond(revision, replace(derived.ir, types=types), extension),
        core=revision,
        claims=tuple(
            ClaimIR(one["method"], one["result_type"], names.class_name(one["type"]))
            for one in extension.of("claims", revision.id).values()
        ),
        members=tuple(
            MembersIR(one["method"], names.class_name(one["from"]))
            for one in extension.of("members", revision.id).values()
        ),
        names={
            method: fact["name"]
            for method, fact in sorted(extension.methods(revision.id).items())
            if "name" in fact
        },
        settings={role: facts["settings"][role] for role in ROLES if _binds(role, extension)},
    )
    warnings = tuple(one for one in derived.warnings if one.place == extension.place)
    return DerivedExtension(ir, warnings)


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
            _capability(role, extension) for role in ROLES if _binds(role, extension)
        ),
        errors=tuple(one for one in merged.errors if one.code not in codes),
        meta_keys=(),
    )


def _of_revision(extension: ExtensionSource, own: Json, revision: str) -> Json:
    """Return the definitions that mean something in a revision, with what they add to the core."""
    here = extension.methods(revision)
    elsewhere = {
        fact["message"]
        for method, fact in extension.facts.get("methods", {}).items()
        if method not in here
    }
    found = {name: schema for name, schema in own.items() if name not in elsewhere}
    for member in extension.of("members", revision).values():
        name = member["from"]
        found[name] = {"allOf": [to(member["type"]), own[name]]}
    return found


def _binds(role: Role, extension: ExtensionSource) -> bool:
    return role in extension.facts["settings"]


def _merged(extension: ExtensionSource, core: RevisionSource, own: Json) -> RevisionSource:
    """Return the inputs of the revision with the extension in it."""
    schema = patches.apply(core.schema, core.ledger, core.ledger_place)
    definitions: Json = {**schema["$defs"], **copy.deepcopy(own)}
    methods = extension.methods(core.facts.revision)
    for fact in methods.values():
        for sender in fact["senders"]:
            _send(fact["message"], sender, fact["kind"], definitions)
    facts: Json = {name: extension.facts[name] for name in _MERGED if name in extension.facts}
    facts["methods"] = {
        method: {
            "since": core.facts.revision,
            **{key: value for key, value in fact.items() if key not in _OF_EXTENSIONS},
        }
        for method, fact in methods.items()
    }
    texts: dict[str, Mapping[str, str]] = dict(core.descriptions.texts)
    for kind, entries in extension.descriptions.items():
        texts[kind] = {**texts.get(kind, {}), **entries}
    return replace(
        core,
        schema={**schema, "$defs": definitions},
        ledger=(),
        facts=replace(core.facts, document=merge_patch(core.facts.document, facts)),
        descriptions=Descriptions(texts, core.descriptions.own),
        place=extension.place,
        facts_place=extension.facts_place,
        notes=(),
    )


def _send(message: str, sender: Role, kind: str, definitions: Json) -> None:
    """Put a message into the union of what its sender sends."""
    union = next(name for name, role, of in skeleton.MESSAGE_UNIONS if (role, of) == (sender, kind))
    schema: Json = definitions.get(union, {"anyOf": []})
    arms: list[Json] = schema.get("anyOf", [schema])
    definitions[union] = {"anyOf": [*arms, to(message)]}


def _gated(method: MethodIR, extension: ExtensionSource) -> MethodIR:
    """Return a method with the sides that have to declare the extension for it."""
    fact = extension.facts["methods"].get(method.method)
    if fact is None:
        message = f"{method.method} has no facts"
        problem = Problem("derived-facts", message, extension.facts_place, "/methods")
        raise ProblemError(problem)
    # The server first: a client need not declare what the server does not have.
    requires = [
        RequirementIR(
            capability=_capability(role, extension).constant,
            role=role,
            path=("extensions", extension.identifier),
            level="MUST",
            sender=sender,
            when=(),
            source=fact["source"],
        )
        for role in reversed(ROLES)
        if role in fact["declared_by"]
        for sender in method.senders
    ]
    return replace(method, requires=(*requires, *method.requires))


def _capability(role: Role, extension: ExtensionSource) -> CapabilityIR:
    return CapabilityIR(
        constant=names.constant(role, extension.name),
        role=role,
        path=("extensions", extension.identifier),
        flag=False,
        implied=False,
        source=extension.facts["source"],
        doc=f"The {role} has the extension `{extension.identifier}`.",
    )

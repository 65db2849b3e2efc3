"""The IR of an extension, from its inputs: its additions to the core revision.

Its definitions are merged into the core schema, and its facts into the facts, so that one pipeline
reads both. The IR of the core is then subtracted.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_protogen.base import jsonpointer, names
from mcp_protogen.base.jsonvalue import merge_patch
from mcp_protogen.base.problems import Problem, ProblemError, raising
from mcp_protogen.pipeline.derive import recursion, skeleton
from mcp_protogen.pipeline.derive.extension_versions import add_suffix
from mcp_protogen.pipeline.derive.inheritance import add_bases
from mcp_protogen.pipeline.derive.revision import DerivedRevision, derive_revision
from mcp_protogen.pipeline.derive.unread_facts import Finding
from mcp_protogen.pipeline.extension_ir import (
    ClaimIR,
    DocumentIR,
    ExtensionIR,
    MembersIR,
    VersionIR,
)
from mcp_protogen.pipeline.inputs import patches
from mcp_protogen.pipeline.inputs.absorbed import SHARED_FACTS, facts_of_methods
from mcp_protogen.pipeline.inputs.extensions import ExtensionSource, FactsOfRevision
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.ir import (
    ROLES,
    CapabilityIR,
    LiteralOf,
    MethodIR,
    ObjectIR,
    RequirementIR,
    RevisionIR,
    Role,
    TypeIR,
)
from mcp_protogen.pipeline.normalise.extension_definitions import own_definitions
from mcp_protogen.pipeline.normalise.references import to

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DerivedExtension:
    """The IR of an extension in one revision, and warnings.

    `merged` are the inputs of the revision with the extension, and `derived` follows from them;
    `own` are the definitions of the extension in them.
    """

    ir: ExtensionIR
    warnings: tuple[Problem, ...]
    merged: RevisionSource
    derived: DerivedRevision
    own: frozenset[str]


def derive_extension(
    extension: ExtensionSource,
    core: RevisionSource,
    revision: RevisionIR,
    version: VersionIR | None = None,
) -> DerivedExtension:
    """Return the IR of an extension; `revision` is the revision without it.

    `version` tells it apart from other versions of the same extension.

    Raise `ProblemError` with all problems.
    """
    patched = patches.apply(extension.schema, extension.patches, extension.patches_place)
    own = own_definitions(_select_definitions(patched, extension), core.schema, extension.place)
    revision_facts = extension.facts_of(revision.id)
    _refuse_unknown(extension, revision_facts, own, revision)
    own = _of_revision(extension, revision_facts, own)
    merged = _merge_sources(extension, revision_facts, core, own)
    derived = derive_revision(merged)
    types = add_bases(derived.ir.types, own)
    _refuse_unfit(extension, revision_facts, types, revision)
    facts = extension.facts
    ir = ExtensionIR(
        name=extension.name,
        module=names.extension_module(extension.name),
        identifier=extension.identifier,
        ir=_additions(revision, replace(derived.ir, types=types), extension, version),
        core=revision,
        claims=tuple(
            ClaimIR(claim["method"], claim["result_type"], names.class_name(claim["type"]))
            for claim in revision_facts.claims.values()
        ),
        members=tuple(
            MembersIR(member["method"], names.class_name(member["from"]))
            for member in revision_facts.members.values()
        ),
        settings={role: facts["settings"][role] for role in ROLES if _binds(role, extension)},
        version=version,
        documents=tuple(_documents(extension)),
    )
    warnings = tuple(warning for warning in derived.warnings if warning.place == extension.place)
    return DerivedExtension(ir, warnings, merged, derived, frozenset(own))


def _documents(extension: ExtensionSource) -> Iterator[DocumentIR]:
    for name, fact in sorted(extension.facts.get("documents", {}).items()):
        yield DocumentIR(
            name=name,
            place=fact["place"],
            media_type=fact["media_type"],
            headers=dict(fact["headers"]),
            type=names.class_name(fact["type"]) if "type" in fact else None,
            patterns=dict(fact.get("patterns", {})),
            content=dict(fact.get("content", {})),
            source=fact["source"],
        )


def _select_definitions(schema: Json, extension: ExtensionSource) -> Json:
    """Return a schema with only the definitions that the facts name; all, if they name none.

    Raise `ProblemError` (`unknown-type`) for each unknown name.
    """
    if "types" not in extension.facts:
        return schema
    definitions: Json = schema.get("$defs", {})
    names: list[str] = extension.facts["types"]["names"]
    _refuse_missing(names, definitions, extension)
    return {**schema, "$defs": {name: definitions[name] for name in names}}


def _additions(
    core: RevisionIR, merged: RevisionIR, extension: ExtensionSource, version: VersionIR | None
) -> RevisionIR:
    types = {type_.name for type_ in core.types}
    methods = {method.method for method in core.methods}
    codes = {error.code for error in core.errors}
    own = [method for method in merged.methods if method.method not in methods]
    return replace(
        merged,
        types=tuple(type_ for type_ in merged.types if type_.name not in types),
        methods=tuple(_require_extension(method, extension, version) for method in own),
        capabilities=tuple(
            capability
            for role in ROLES
            if _binds(role, extension)
            for capability in _declarable_capabilities(role, extension, version)
        ),
        errors=tuple(error for error in merged.errors if error.code not in codes),
        meta_keys=(),
    )


def _of_revision(extension: ExtensionSource, revision_facts: FactsOfRevision, own: Json) -> Json:
    """Return the definitions for a revision, with additions to core types as intersections."""
    elsewhere = {
        fact["message"]
        for method, fact in extension.facts.get("methods", {}).items()
        if method not in revision_facts.methods
    }
    definitions = {name: schema for name, schema in own.items() if name not in elsewhere}
    for member in revision_facts.members.values():
        name = member["from"]
        definitions[name] = {"allOf": [to(member["type"]), own[name]]}
    return definitions


def _binds(role: Role, extension: ExtensionSource) -> bool:
    return role in extension.facts["settings"]


def _merge_sources(
    extension: ExtensionSource, revision_facts: FactsOfRevision, core: RevisionSource, own: Json
) -> RevisionSource:
    schema = core.apply_patches()
    definitions: Json = {**schema["$defs"], **copy.deepcopy(own)}
    for fact in revision_facts.methods.values():
        for sender in fact["senders"]:
            _send(fact["message"], sender, fact["kind"], definitions)
    facts: Json = {name: extension.facts[name] for name in SHARED_FACTS if name in extension.facts}
    revision = core.facts.revision
    facts["methods"] = facts_of_methods(extension.facts, revision, revision)
    if core.facts.era == "handshake":
        # Only the header fields of stateless revisions repeat parts of messages.
        for fact in facts["methods"].values():
            fact.pop("headers", None)
    texts: dict[str, Mapping[str, str]] = dict(core.descriptions.texts)
    for kind, entries in extension.descriptions.items():
        texts[kind] = {**texts.get(kind, {}), **entries}
    return replace(
        core,
        schema={**schema, "$defs": definitions},
        patches=(),
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


def _require_extension(
    method: MethodIR, extension: ExtensionSource, version: VersionIR | None
) -> MethodIR:
    """Return a method that requires the extension from the sides that must declare it.

    In a further version, its names have a suffix.
    """
    fact = extension.facts["methods"].get(method.method)
    if fact is None:
        message = f"{method.method} has no facts"
        hint = "add them, or take the message out of the schema with a patch"
        problem = Problem("derived-facts", message, extension.facts_place, "/methods", hint)
        raise ProblemError(problem)
    # The server first: a client need not declare what the server does not have.
    requires = [
        RequirementIR(
            capability=capability.constant,
            role=role,
            path=capability.path,
            level="MUST",
            sender=sender,
            when=(),
            source=fact["source"],
        )
        for role in reversed(ROLES)
        if role in fact["declared_by"]
        for sender in method.senders
        for capability in _needs_of(role, extension, fact if role != sender else {}, version, fact)
    ]
    principal = fact.get("principal", 0)
    method = replace(method, requires=(*requires, *method.requires), principal=principal)
    if version is None:
        return method
    return add_suffix(method, version.suffix, extension.facts["methods"])


def _needs_of(
    role: Role, extension: ExtensionSource, setting: Json, version: VersionIR | None, fact: Json
) -> Iterator[CapabilityIR]:
    """Yield what a role has to declare for a method: the extension, or a setting of it."""
    # A server that only declares its newest version may have others, too.
    lists_all = version is not None and (role == "client" or version.rule.lists_all)
    if version is not None and lists_all:
        yield _version_capability(role, extension, fact.get("version", version.base), version)
    if not lists_all or "setting" in setting:
        yield _capability(role, extension, setting)


def _version_capability(
    role: Role, extension: ExtensionSource, least: str, version: VersionIR
) -> CapabilityIR:
    plain = _capability(role, extension, {})
    if least == version.base:
        return replace(plain, version=least)
    constant = names.constant(role, extension.name, *least.split("."))
    doc = f"The {role} has the extension `{extension.identifier}` since version {least}."
    return replace(plain, constant=constant, version=least, doc=doc)


def _declarable_capabilities(
    role: Role, extension: ExtensionSource, version: VersionIR | None
) -> Iterator[CapabilityIR]:
    """Yield the capabilities of a role: the extension, and settings that methods need."""
    methods: Mapping[str, Json] = extension.facts.get("methods", {})
    if version is None:
        yield _capability(role, extension, {})
    else:
        came = {fact["version"] for fact in methods.values() if "version" in fact}
        if role == "server" and not version.rule.lists_all:
            yield _capability(role, extension, {})
        else:
            for least in sorted({version.base, *came}):
                yield _version_capability(role, extension, least, version)
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


_BOUND = "see revisions, at the top of the file"


@raising
def _refuse_unknown(
    extension: ExtensionSource, revision_facts: FactsOfRevision, own: Json, revision: RevisionIR
) -> Iterator[Problem]:
    """Raise `ProblemError` for unknown names, and additions that the revision cannot have."""
    for finding in (
        *_wrong_methods(extension, revision_facts, own, revision),
        *_wrong_others(extension, revision_facts, own, revision),
    ):
        yield _problem(finding, extension)


@raising
def _refuse_unfit(
    extension: ExtensionSource,
    revision_facts: FactsOfRevision,
    types: tuple[TypeIR, ...],
    revision: RevisionIR,
) -> Iterator[Problem]:
    """Raise `ProblemError` for facts that contradict the `types` of revision and extension."""
    by_name = {str(type_.name): type_ for type_ in types}
    for finding in (
        *_wrong_claims(revision_facts, by_name),
        *_wrong_additions(revision_facts, by_name, revision),
    ):
        yield _problem(finding, extension)


@raising
def _refuse_missing(
    names: Sequence[str], own: Json, extension: ExtensionSource
) -> Iterator[Problem]:
    """Raise `ProblemError` for types in the facts that the schema lacks."""
    for index, name in enumerate(names):
        if name not in own:
            yield _problem(_no_type(name, f"/types/names/{index}"), extension)


def _problem(finding: Finding, extension: ExtensionSource) -> Problem:
    code, message, pointer, hint = finding
    return Problem(code, message, extension.facts_place, pointer, hint)


def _wrong_methods(
    extension: ExtensionSource, revision_facts: FactsOfRevision, own: Json, revision: RevisionIR
) -> Iterator[Finding]:
    methods = {method.method for method in revision.methods}
    facts: Mapping[str, Json] = extension.facts.get("methods", {})
    for method, fact in facts.items():
        place = jsonpointer.join("methods", method)
        yield from _unbound(fact, place, extension)
        if fact["message"] not in own:
            yield _no_type(fact["message"], f"{place}/message")
        for role in fact["declared_by"]:
            if role not in extension.facts["settings"]:
                hint = "give it settings, or take it out here"
                message = f"the {role} has no settings to declare"
                yield "facts-disagree", message, f"{place}/declared_by", hint
    for method, fact in revision_facts.methods.items():
        place = jsonpointer.join("methods", method)
        if method in methods:
            hint = "an extension adds only new methods; use claims and members for others"
            yield "facts-disagree", f"{revision.id} already has {method}", place, hint
        if (
            fact["kind"] == "request"
            and "server" in fact["senders"]
            and not revision.rules.server_requests
        ):
            # The questions inside results are fixed (2026-07-28, basic/patterns/mrtr).
            message = f"servers of {revision.id} send no requests"
            hint = "list the revisions that the method is for: revisions"
            yield "facts-disagree", message, f"{place}/senders", hint


def _wrong_others(
    extension: ExtensionSource, revision_facts: FactsOfRevision, own: Json, revision: RevisionIR
) -> Iterator[Finding]:
    methods = {method.method for method in revision.methods}
    core = {str(type_.name) for type_ in revision.types}
    codes = {str(error.code) for error in revision.errors}
    for method, fact in revision_facts.methods.items():
        code = str(fact.get("principal", ""))
        if code and code not in codes | extension.facts.get("errors", {}).keys():
            place = jsonpointer.join("methods", method, "principal")
            hint = "add it to errors, or name another code"
            yield "facts-disagree", f"there is no error {code}", place, hint
    for code in sorted(codes & extension.facts.get("errors", {}).keys()):
        message = f"{revision.id} already has the error code {code}"
        yield "facts-disagree", message, f"/errors/{code}", "an extension adds codes: remove it"
    for kind in ("claims", "members"):
        for index, fact in enumerate(extension.facts.get(kind, ())):
            yield from _unbound(fact, f"/{kind}/{index}", extension)
    for name, document in extension.facts.get("documents", {}).items():
        place = jsonpointer.join("documents", name)
        if ("type" in document) == ("content" in document):
            message = f"the document {name} needs either a type or a content"
            yield "facts-disagree", message, place, "say what is in it: type or content"
        if document.get("type", name) not in {name, *own}:
            yield _no_type(document["type"], f"{place}/type")
    for place, claim in revision_facts.claims.items():
        yield from _no_method(claim, methods, place, revision)
        if claim["type"] not in own:
            yield _no_type(claim["type"], f"{place}/type")
        if not revision.rules.result_type_values:
            message = f"results of {revision.id} have no resultType"
            hint = "list the revisions that the claim is for: revisions"
            yield "facts-disagree", message, place, hint
    for place, member in revision_facts.members.items():
        yield from _no_method(member, methods, place, revision)
        for key, side in (("type", core), ("from", own)):
            if member[key] not in side:
                yield _no_type(member[key], f"{place}/{key}")


def _unbound(fact: Json, place: str, extension: ExtensionSource) -> Iterator[Finding]:
    for revision in fact.get("revisions", ()):
        if revision not in extension.revisions:
            message = f"the extension is not for {revision!r:.80}"
            yield "facts-disagree", message, f"{place}/revisions", _BOUND


def _no_type(name: str, pointer: str) -> Finding:
    return "unknown-type", f"there is no type {name!r:.80}", pointer, "see $defs of the schema"


def _no_method(
    fact: Json, methods: set[str], place: str, revision: RevisionIR
) -> Iterator[Finding]:
    if fact["method"] not in methods:
        message = f"{revision.id} has no method {fact['method']!r:.80}"
        yield "facts-disagree", message, f"{place}/method", f"see the methods of {revision.id}"


def _wrong_claims(
    revision_facts: FactsOfRevision, types: Mapping[str, TypeIR]
) -> Iterator[Finding]:
    for place, claim in revision_facts.claims.items():
        type_, constant = types.get(claim["type"]), LiteralOf((claim["result_type"],))
        if not any(
            field.wire == "resultType" and field.required and field.type == constant
            for field in (type_.fields if isinstance(type_, ObjectIR) else ())
        ):
            message = f"{claim['type']} does not require this resultType"
            hint = "give it the constant that it is known by"
            yield "facts-disagree", message, f"{place}/result_type", hint


def _wrong_additions(
    revision_facts: FactsOfRevision, types: Mapping[str, TypeIR], revision: RevisionIR
) -> Iterator[Finding]:
    methods = {method.method: method for method in revision.methods}
    for place, member in revision_facts.members.items():
        method, type_, source = methods[member["method"]], member["type"], types[member["from"]]
        messages = [str(name) for name in (method.params, *method.results)]
        inside = [
            name
            for type_name in messages
            if type_name in types
            for name in recursion.uses(types[type_name])
        ]
        if type_ not in (*messages, *inside):
            message = f"messages of {method.method} do not have {type_} as a member"
            hint = "name a type of its params or results, or of one of their members"
            yield "facts-disagree", message, f"{place}/type", hint
        if not isinstance(source, ObjectIR) or source.base != type_:
            message = f"{member['from']} is not {type_} with further members"
            hint = "members may be added, and not be changed"
            yield "facts-disagree", message, f"{place}/from", hint

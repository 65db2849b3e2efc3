"""The check of the facts of an extension against its schema and the revision that it extends.

What the facts say of a method is compared as for revisions; here is what only extensions have.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.problems import Problem, raising
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.inputs.extensions import ExtensionSource, FactsOfRevision
from mcp_protogen.pipeline.ir import LiteralOf, ObjectIR, RevisionIR, Scalar, TypeIR

Json = dict[str, Any]

_Finding = tuple[str, str, str, str]
"""Code, message, pointer and hint of a problem."""
_BOUND = "see revisions, at the top of the file"


@raising
def refuse_unknown(
    extension: ExtensionSource, held: FactsOfRevision, own: Json, revision: RevisionIR
) -> Iterator[Problem]:
    """Raise `ProblemError` for names that mean nothing, and what the revision cannot have."""
    for finding in (
        *_methods(extension, held, own, revision),
        *_others(extension, held, own, revision),
    ):
        yield _problem(finding, extension)


@raising
def refuse_unfit(
    extension: ExtensionSource,
    held: FactsOfRevision,
    types: tuple[TypeIR, ...],
    revision: RevisionIR,
) -> Iterator[Problem]:
    """Raise `ProblemError` for facts that the `types` of revision and extension contradict."""
    by_name = {str(one.name): one for one in types}
    for finding in (*_names(held, by_name), *_additions(held, by_name, revision)):
        yield _problem(finding, extension)


@raising
def refuse_missing(
    wanted: Sequence[str], own: Json, extension: ExtensionSource
) -> Iterator[Problem]:
    """Raise `ProblemError` for types that the facts choose, and the schema does not have."""
    for index, name in enumerate(wanted):
        if name not in own:
            yield _problem(_no_type(name, f"/types/names/{index}"), extension)


def _problem(finding: _Finding, extension: ExtensionSource) -> Problem:
    code, message, pointer, hint = finding
    return Problem(code, message, extension.facts_place, pointer, hint)


def _methods(
    extension: ExtensionSource, held: FactsOfRevision, own: Json, revision: RevisionIR
) -> Iterator[_Finding]:
    known = {method.method for method in revision.methods}
    facts: Mapping[str, Json] = extension.facts.get("methods", {})
    for method, fact in facts.items():
        here = jsonpointer.join("methods", method)
        yield from _unbound(fact, here, extension)
        if fact["message"] not in own:
            yield _no_type(fact["message"], f"{here}/message")
        for role in fact["declared_by"]:
            if role not in extension.facts["settings"]:
                hint = "give it settings, or take it out here"
                message = f"the {role} has no settings to declare"
                yield "facts-disagree", message, f"{here}/declared_by", hint
    for method, fact in held.methods.items():
        here = jsonpointer.join("methods", method)
        if method in known:
            hint = "an extension adds methods; what it adds to others are claims and members"
            yield "facts-disagree", f"{revision.id} has {method}", here, hint
        if (
            fact["kind"] == "request"
            and "server" in fact["senders"]
            and not revision.rules.server_requests
        ):
            # What may be asked inside a result is fixed (2026-07-28, basic/patterns/mrtr).
            message = f"servers of {revision.id} send no requests"
            hint = "list the revisions that the method is for: revisions"
            yield "facts-disagree", message, f"{here}/senders", hint


def _others(
    extension: ExtensionSource, held: FactsOfRevision, own: Json, revision: RevisionIR
) -> Iterator[_Finding]:
    known = {method.method for method in revision.methods}
    core = {str(one.name) for one in revision.types}
    codes = {str(error.code) for error in revision.errors}
    for code in sorted(codes & extension.facts.get("errors", {}).keys()):
        message = f"{revision.id} has the error code {code}"
        yield "facts-disagree", message, f"/errors/{code}", "an extension adds codes: remove it"
    for kind in ("claims", "members"):
        for index, fact in enumerate(extension.facts.get(kind, ())):
            yield from _unbound(fact, f"/{kind}/{index}", extension)
    for here, claim in held.claims.items():
        yield from _no_method(claim, known, here, revision)
        if claim["type"] not in own:
            yield _no_type(claim["type"], f"{here}/type")
        if not revision.rules.result_type_values:
            message = f"results of {revision.id} have no resultType"
            hint = "list the revisions that the claim is for: revisions"
            yield "facts-disagree", message, here, hint
    for here, member in held.members.items():
        yield from _no_method(member, known, here, revision)
        for key, there in (("type", core), ("from", own)):
            if member[key] not in there:
                yield _no_type(member[key], f"{here}/{key}")


def _unbound(fact: Json, here: str, extension: ExtensionSource) -> Iterator[_Finding]:
    for revision in fact.get("revisions", ()):
        if revision not in extension.revisions:
            message = f"the extension is not for {revision!r:.80}"
            yield "facts-disagree", message, f"{here}/revisions", _BOUND


def _no_type(name: str, pointer: str) -> _Finding:
    return "unknown-type", f"there is no type {name!r:.80}", pointer, "see $defs of the schema"


def _no_method(fact: Json, known: set[str], here: str, revision: RevisionIR) -> Iterator[_Finding]:
    if fact["method"] not in known:
        message = f"{revision.id} has no method {fact['method']!r:.80}"
        yield "facts-disagree", message, f"{here}/method", f"see the methods of {revision.id}"


def _names(held: FactsOfRevision, types: Mapping[str, TypeIR]) -> Iterator[_Finding]:
    """Yield what is wrong with the members that `Mcp-Name` repeats, and with claimed results."""
    for method, fact in held.methods.items():
        params, name = types.get(fact["params"]), fact.get("name")
        if name is not None and not any(
            field.wire == name and field.required and field.type == Scalar("string")
            for field in (params.fields if isinstance(params, ObjectIR) else ())
        ):
            message = f"{fact['params']} has no required string {name!r:.80}"
            pointer = f"{jsonpointer.join('methods', method)}/name"
            yield "facts-disagree", message, pointer, "name another member, or none"
    for here, claim in held.claims.items():
        found, constant = types.get(claim["type"]), LiteralOf((claim["result_type"],))
        if not any(
            field.wire == "resultType" and field.required and field.type == constant
            for field in (found.fields if isinstance(found, ObjectIR) else ())
        ):
            message = f"{claim['type']} does not require this resultType"
            hint = "give it the constant that it is known by"
            yield "facts-disagree", message, f"{here}/result_type", hint


def _additions(
    held: FactsOfRevision, types: Mapping[str, TypeIR], revision: RevisionIR
) -> Iterator[_Finding]:
    """Yield what is wrong with members that are added to types of the revision."""
    methods = {method.method: method for method in revision.methods}
    for here, member in held.members.items():
        method, wanted, own = methods[member["method"]], member["type"], types[member["from"]]
        messages = [str(name) for name in (method.params, *method.results)]
        inside = [name for one in messages if one in types for name in recursion.uses(types[one])]
        if wanted not in (*messages, *inside):
            message = f"messages of {method.method} do not have {wanted} as a member"
            hint = "name a type of its params or results, or of one of their members"
            yield "facts-disagree", message, f"{here}/type", hint
        if not isinstance(own, ObjectIR) or own.base != wanted:
            message = f"{member['from']} is not {wanted} with further members"
            hint = "members may be added, and not be changed"
            yield "facts-disagree", message, f"{here}/from", hint

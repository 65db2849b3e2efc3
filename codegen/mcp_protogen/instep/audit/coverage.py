"""The coverage of an SDK: its types, methods, error codes, and the name of the revision."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from mcp_protogen.base.graph import reach
from mcp_protogen.base.printable import summarize_list
from mcp_protogen.instep.audit.description import Description, SdkType
from mcp_protogen.instep.audit.differences import TypeWalk
from mcp_protogen.instep.audit.fitting import AuditedSdk
from mcp_protogen.instep.audit.names import find_revisions, fold, revision_in
from mcp_protogen.instep.audit.other_revisions import OtherRevisions
from mcp_protogen.instep.audit.severities import AuditFinding
from mcp_protogen.pipeline.derive.recursion import names_in
from mcp_protogen.pipeline.ir import MethodIR, ObjectIR

_SHOWN = 5
_BETWEEN = range(-32768, -31999)
"""The codes that JSON-RPC reserves; another number with the name of an error may mean anything."""
_SPEAKING = 0.5
"""The part of its classes that must have matches in a module of protocol types."""
_LISTING = 0.5
"""The part of the requests, or of the notifications, that a table of methods must have."""


def coverage(walk: TypeWalk) -> Iterator[AuditFinding]:
    """Yield all findings about coverage, after a walk through the matches."""
    audited, other_revisions, placed = walk.audited, walk.other_revisions, walk.by_place
    yield from _types_missing(audited, audited.wanted.types_within(walk.untyped))
    yield from _methods_missing(audited)
    yield from _undeclared_members(audited, placed)
    if audited.wanted.extension:
        return  # the rest belongs to the revision, or to another extension
    yield from _types_extra(audited, other_revisions, walk.used | set(placed.values()))
    yield from _methods_extra(audited, other_revisions)
    yield from _error_codes(audited)
    yield from _revision(audited)


def _types_missing(audited: AuditedSdk, untyped: frozenset[str]) -> Iterator[AuditFinding]:
    wanted = audited.wanted
    for name, wire_name in wanted.wire_names.items():
        type_ = wanted.types.get(name)
        left_out = {name, wire_name} & audited.matching.left_out.keys()
        # A union or an alias may be expanded at each use, where it is compared.
        if not isinstance(type_, ObjectIR) or name in audited.matching.matches or left_out:
            continue
        if name in untyped or not wanted.audits(name):
            continue
        senders = wanted.senders.get(name, frozenset())
        needed = senders and name not in wanted.inline_definitions
        code = "type-missing" if needed else "type-missing-base"
        before = ", ".join(field.wire for field in type_.fields) or "an object"
        yield AuditFinding(code, wire_name, "is missing", type_.origin, before, "", senders)


def _types_extra(
    audited: AuditedSdk, other_revisions: OtherRevisions, containers: set[str]
) -> Iterator[AuditFinding]:
    """Yield classes in modules of the protocol that nothing matches or uses."""
    sdk = audited.sdk
    used = {match.key for match in audited.matching.matches.values()} | containers
    used |= {*reach(used, lambda key: _named_types(sdk.types[key]))}
    bases = {base for key in used for base in sdk.types[key].bases}
    for module, types in sorted(_by_module(sdk, audited.matching.modules).items()):
        if sum(type_.key in used for type_ in types) < _SPEAKING * len(types):
            continue
        for type_ in types:
            if type_.key in used | bases or _method_of(type_) or "." in type_.key.split(":")[1]:
                continue
            if other_revisions.is_of_extension(*type_.names):
                continue
            revisions = [r for name in type_.names for r in other_revisions.types(name)]
            after = f"{type_.title} (in {', '.join(revisions)})" if revisions else type_.title
            item = type_.names[0]
            yield AuditFinding("type-extra", item, f"is defined in {module}", "", "", after)


def _named_types(type_: SdkType) -> set[str]:
    shapes = [member.type for member in type_.members] + ([type_.type] if type_.type else [])
    return {key for shape in shapes for key in names_in(shape)}


def _by_module(sdk: Description, modules: frozenset[str]) -> dict[str, list[SdkType]]:
    found: dict[str, list[SdkType]] = {}
    for type_ in sdk.types.values():
        if type_.kind == "object" and type_.module in modules and not type_.generic:
            found.setdefault(type_.module, []).append(type_)
    return found


def _method_of(type_: SdkType) -> str:
    values = type_.constants().get("method", frozenset())
    return next((value for value in values if isinstance(value, str)), "")


def _methods_missing(audited: AuditedSdk) -> Iterator[AuditFinding]:
    wanted, sdk = audited.wanted, audited.sdk
    typed: dict[Any, str] = {}
    for type_ in sdk.types.values():
        if revision_in(type_.module) in (None, wanted.ir.id):
            values = type_.constants().get("method", frozenset())
            typed.update(dict.fromkeys(values, type_.title))
    known = sdk.methods | typed.keys()
    in_table = _in_tables(sdk, wanted.ir.id)
    audits = [method for method in wanted.ir.methods if wanted.audits(method.method)]
    for kind, methods in groupby(sorted(audits, key=_kind), _kind):
        every = list(methods)
        # Tables with few methods of a kind are not a list of that kind.
        in_tables = sum(method.method in in_table for method in every) >= _LISTING * len(every)
        for method in every:
            if method.method in (in_table if in_tables else known):
                continue
            pointer = wanted.types[method.message].origin
            before = f"{kind} from {' and '.join(method.senders)}, {method.message}"
            message = "is in no table of methods" if method.method in known else "is missing"
            where = pointer, before, typed.get(method.method, ""), frozenset(method.senders)
            yield AuditFinding("method-missing", method.method, message, *where)


def _kind(method: MethodIR) -> str:
    return method.kind


def _in_tables(sdk: Description, revision: str) -> frozenset[str]:
    """Return the methods in tables that name the revision; without such, in tables without one."""
    rows = [(revision_in(table.module), row) for table in sdk.tables for row in table.rows]
    named = [row for own, row in rows if revision in (own, *row)]
    neutral = [row for own, row in rows if not any(map(revision_in, (own or "", *row)))]
    return frozenset[str]().union(*(named or neutral))


def _methods_extra(audited: AuditedSdk, other_revisions: OtherRevisions) -> Iterator[AuditFinding]:
    known = {method.method for method in audited.wanted.ir.methods}
    reported: set[str] = set()
    for type_ in audited.sdk.types.values():
        method = _method_of(type_)
        if not method or method in known | reported or type_.generic:
            continue
        if type_.module not in audited.matching.modules or other_revisions.is_of_extension(method):
            continue
        reported.add(method)
        revisions = other_revisions.methods(method)
        after = f"{type_.title} (in {', '.join(revisions)})" if revisions else type_.title
        yield AuditFinding("method-extra", method, "is not in the revision", "", "", after)


def _error_codes(audited: AuditedSdk) -> Iterator[AuditFinding]:
    codes = _codes(audited.sdk)
    for error in audited.wanted.ir.errors:
        if error.emit == "never":
            continue
        under_name = [value for name, value in codes if name == fold(error.name)]
        if error.code in (value for _, value in codes):
            continue
        wrong = next((value for value in under_name if value in _BETWEEN), None)
        if wrong is not None:
            message = "has another code"
            yield AuditFinding(
                "error-code-wrong", error.name, message, "", str(error.code), str(wrong)
            )
        else:
            yield AuditFinding(
                "error-code-missing", error.name, "has no name", "", str(error.code), ""
            )


def _codes(sdk: Description) -> list[tuple[str, Any]]:
    found = [(fold(constant.name), constant.value) for constant in sdk.constants]
    for type_ in sdk.types.values():
        found += [(fold(label), value) for label, value in type_.labels.items()]
        found += [("", value) for value in type_.constants().get("code", frozenset())]
    return found


def _undeclared_members(audited: AuditedSdk, placed: Mapping[str, str]) -> Iterator[AuditFinding]:
    """Yield one finding for all types, because a base class usually decides this."""
    wanted = audited.wanted
    pairs = {name: match.key for name, match in audited.matching.matches.items()} | dict(placed)
    mine = filter(wanted.audits, pairs)
    reached = {name: pairs[name] for name in mine if name in wanted.senders}
    for extra, code in (("ignore", "unknown-members-lost"), ("forbid", "unknown-members-refused")):
        found = [name for name, key in reached.items() if audited.sdk.types[key].extra == extra]
        if found:
            said = "refused" if extra == "forbid" else "dropped"
            after = f"{said} by {summarize_list(sorted(found), _SHOWN)}"
            yield AuditFinding(code, "undeclared members", f"are {said}", "", "kept", after)


def _revision(audited: AuditedSdk) -> Iterator[AuditFinding]:
    revision = audited.wanted.ir.id
    named = find_revisions(audited.sdk)
    if named and revision not in named:
        others = ", ".join(sorted(named))
        yield AuditFinding(
            "revision-not-named", revision, "is not named anywhere", "", revision, others
        )

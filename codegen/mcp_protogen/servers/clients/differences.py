"""The changes between two contracts of a server, and who they break."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.subschemas import VALUES
from mcp_protogen.pipeline.reports.change import Comparison, ReportedChange
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.clients.compatibility import ARGUMENTS, RESULTS, faults
from mcp_protogen.servers.clients.contract import ITEM_KINDS, Contract, ServerItem, TaskSupport
from mcp_protogen.servers.clients.schema_faults import FaultKind, SchemaFault
from mcp_protogen.servers.clients.severities import READERS, rate
from mcp_protogen.servers.clients.wording import short_text

Json = dict[str, Any]
Place = Callable[[str], str]
Items = Mapping[str, ServerItem]

# An impossible member: with it, the schema declares members, so no others are sent.
_NONE: Final[Json] = {"": False}
VERSION: Final = "server-version-changed"
"""The code of a change that does not affect the contract."""

# https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations: the default of an
# absent hint, which is the less safe value, and the code of a change to it.
_HINTS: Final[Mapping[str, tuple[bool, str]]] = {
    "readOnlyHint": (False, "security-read-only-lost"),
    "destructiveHint": (True, "security-destructive"),
    "idempotentHint": (False, "security-idempotent-lost"),
    "openWorldHint": (True, "security-open-world"),
}
# These have a meaning only for tools without a true readOnlyHint.
_OF_WRITERS: Final = frozenset({"destructiveHint", "idempotentHint"})

# The codes of faults in arguments: values that the new schema refuses, and that it newly accepts.
_REFUSED: Final[Mapping[FaultKind, str]] = {
    FaultKind.TYPE: "argument-type-narrowed",
    FaultKind.VALUE: "argument-value-removed",
    FaultKind.BOUND: "argument-bound-tightened",
    FaultKind.REQUIRED: "argument-now-required",
    FaultKind.MISSING: "argument-added-required",
    FaultKind.UNDECLARED: "argument-refused",
    FaultKind.REMOVED: "argument-rule-changed",
    FaultKind.EXTRA: "argument-ignored",
    FaultKind.FORMAT: "argument-format-changed",
    FaultKind.RULE: "argument-rule-changed",
    FaultKind.UNKNOWN: "argument-not-compared",
}
_ALLOWED: Final[Mapping[FaultKind, str]] = {
    FaultKind.TYPE: "argument-type-widened",
    FaultKind.VALUE: "argument-value-added",
    FaultKind.BOUND: "argument-bound-loosened",
    FaultKind.REQUIRED: "argument-now-optional",
    FaultKind.UNDECLARED: "argument-added",
    FaultKind.EXTRA: "argument-added",
    FaultKind.RULE: "argument-rule-loosened",
}
# For results: values that the old schema does not expect, and that the new one excludes.
_UNEXPECTED: Final[Mapping[FaultKind, str]] = {
    FaultKind.TYPE: "result-type-widened",
    FaultKind.VALUE: "result-value-added",
    FaultKind.BOUND: "result-bound-loosened",
    FaultKind.REQUIRED: "result-member-now-optional",
    FaultKind.MISSING: "result-member-removed",
    FaultKind.REMOVED: "result-member-removed",
    FaultKind.EXTRA: "result-member-added",
    FaultKind.FORMAT: "result-format-changed",
    FaultKind.RULE: "result-rule-loosened",
    FaultKind.UNKNOWN: "result-not-compared",
}
_EXCLUDED: Final[Mapping[FaultKind, str]] = {
    FaultKind.TYPE: "result-type-narrowed",
    FaultKind.VALUE: "result-value-removed",
    FaultKind.BOUND: "result-bound-tightened",
    FaultKind.REQUIRED: "result-member-now-required",
    FaultKind.RULE: "result-rule-added",
}

# https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks, "Tool-Level
# Negotiation": a tool without a declaration forbids it.
_TASK_CODES: Final[Mapping[tuple[TaskSupport, TaskSupport], str]] = {
    (TaskSupport.FORBIDDEN, TaskSupport.OPTIONAL): "tool-task-allowed",
    (TaskSupport.FORBIDDEN, TaskSupport.REQUIRED): "tool-task-required",
    (TaskSupport.OPTIONAL, TaskSupport.REQUIRED): "tool-task-required",
    (TaskSupport.REQUIRED, TaskSupport.OPTIONAL): "tool-task-not-required",
    (TaskSupport.REQUIRED, TaskSupport.FORBIDDEN): "tool-task-replaced",
    (TaskSupport.OPTIONAL, TaskSupport.FORBIDDEN): "tool-task-refused",
}

_REQUIRED: Final = (FaultKind.REQUIRED, FaultKind.MISSING)
_ADDED: Final = (FaultKind.UNDECLARED, FaultKind.EXTRA)
# Only declared members show exclusions: undeclared ones may still come.
_KNOWN_RESULTS: Final = replace(RESULTS, writer_adds=False)


def compare_contracts(before: Contract, after: Contract, names: tuple[str, str]) -> Comparison:
    """Return all changes between two contracts; `names` are those of the two sides."""
    changes = [*_of_server(before, after), *_task_support(before, after)]
    for kind in ITEM_KINDS:
        changes += changes_of_items(kind, before.items_by_kind[kind], after.items_by_kind[kind])
    once = {(change.code, change.item, change.before, change.after): change for change in changes}
    return Comparison(*names, tuple(once.values()), after.warnings, readers=READERS)


def _task_support(before: Contract, after: Contract) -> Iterator[ReportedChange]:
    """Yield the tools that now refuse, accept or require calls as tasks."""
    for name in [name for name in before.tools if name in after.tools]:
        was, now = before.tools[name].task_support, after.tools[name].task_support
        code = _TASK_CODES.get((_with_extension(was, before), _with_extension(now, after)))
        if was is not now and code is not None:
            yield rate(code, name, name, was.value, now.value)


def _with_extension(support: TaskSupport, contract: Contract) -> TaskSupport:
    """Return the support of a tool; with the extension, any tool may be a task."""
    return TaskSupport.OPTIONAL if contract.task_extension else support


def changes_of_items(kind: Kind, before: Items, after: Items) -> Iterator[ReportedChange]:
    """Yield the changes between the items of one kind."""
    what = kind.singular
    renamed = _find_renames(before, after)
    for name, item in before.items():
        if name in renamed:
            yield rate(f"{what}-renamed", name, name, name, renamed[name])
        elif name not in after:
            yield rate(f"{what}-removed", name, name, name)
        else:
            yield from _of_item(what, item, after[name])
    known = {*before, *renamed.values()}
    for name in after:
        if name not in known:
            yield rate(f"{what}-added", name, name, "", name)


def differs(comparison: Comparison) -> bool:
    """Return whether more than the version of the server has changed."""
    return any(change.code != VERSION for change in comparison.changes)


def _of_server(before: Contract, after: Contract) -> Iterator[ReportedChange]:
    sides = (
        ("server-renamed", before.server, after.server),
        (VERSION, before.version, after.version),
        ("server-revision-changed", before.revision, after.revision),
    )
    for code, was, now in sides:
        if was != now:
            yield rate(code, after.server, "", was or "none", now or "none")
    if before.task_extension != after.task_extension:
        code = f"server-tasks-{'added' if after.task_extension else 'removed'}"
        yield rate(code, after.server, "")


def _find_renames(before: Items, after: Items) -> Mapping[str, str]:
    """Return the new names of renamed items, where only one match exists."""
    gone, came = _by_content(before, after), _by_content(after, before)
    return {
        names[0]: came[content][0]
        for content, names in gone.items()
        if len(names) == 1 and len(came[content]) == 1
    }


def _by_content(items: Items, others: Items) -> Mapping[bytes, list[str]]:
    """Return the names that only one side has, by content without names and titles."""
    found: defaultdict[bytes, list[str]] = defaultdict(list)
    for name in items.keys() - others.keys():
        members = items[name].as_json()
        found[canonical({**members, "name": "", "title": ""})].append(name)
    return found


def _of_item(what: str, before: ServerItem, after: ServerItem) -> Iterator[ReportedChange]:
    name = before.name
    texts = (
        (f"{what}-title-changed", before.title, after.title),
        (f"{what}-description-changed", before.description, after.description),
        (f"{what}-uri-changed", before.uri, after.uri),
    )
    for code, was, now in texts:
        if was != now:
            yield rate(code, name, name, *_shorten(was, now))
    values = (("icons", before.icons, after.icons), ("meta", before.meta, after.meta))
    for member, *sides in values:
        old, new = (canonical(side).decode() if side else "none" for side in sides)
        if old != new:
            yield rate(f"{what}-{member}-changed", name, name, *_shorten(old, new))
    yield from _hints(before, after)
    yield from _arguments(before, after)
    yield from _results(before, after)


def _shorten(was: str, now: str) -> tuple[str, str]:
    """Return two texts, cut to begin shortly before their first difference."""
    same = next((i for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), 0)
    start = max(0, same - 20) if same > 60 else 0
    ends = (f"{'…' if start else ''}{text[start:]}" for text in (was, now))
    first, second = (" ".join(text.split()) for text in ends)
    return short_text(first), short_text(second)


def _hints(before: ServerItem, after: ServerItem) -> Iterator[ReportedChange]:
    only_reads = any(item.annotations.get("readOnlyHint", False) for item in (before, after))
    for hint, (absent, lost) in _HINTS.items():
        was, now = (item.annotations.get(hint, absent) for item in (before, after))
        if was == now or (only_reads and hint in _OF_WRITERS):
            continue
        code = lost if now is absent else "hint-safer"
        yield rate(code, f"{before.name} {hint}", before.name, str(was).lower(), str(now).lower())


def _arguments(before: ServerItem, after: ServerItem) -> Iterator[ReportedChange]:
    def place(path: str) -> str:
        return f"{before.name}({path})"

    was, now = _arguments_of(before), _arguments_of(after)
    refused = faults(was, now, ARGUMENTS)
    allowed = _new_faults(faults(now, was, ARGUMENTS), refused)
    needed = {fault.path for fault in refused if fault.kind in _REQUIRED}
    allowed = [fault for fault in allowed if fault.kind not in _ADDED or fault.path not in needed]
    yield from _fault_changes(refused, _REFUSED, before.name, place)
    yield from _fault_changes(map(_swap_sides, allowed), _ALLOWED, before.name, place)
    yield from _defaults(was, now, before.name, place)
    yield from _text_changes("argument-text-changed", was, now, before.name, place)


def _results(before: ServerItem, after: ServerItem) -> Iterator[ReportedChange]:
    def place(path: str) -> str:
        return f"{before.name}().{path}" if path else f"{before.name}()"

    was, now = before.output, after.output
    if was is None or now is None:
        if was is not now:
            code = f"result-schema-{'added' if was is None else 'removed'}"
            yield rate(code, place(""), before.name)
        return
    unexpected = faults(now, was, RESULTS)
    excluded = _new_faults(faults(was, now, _KNOWN_RESULTS), unexpected)
    removed = {fault.path for fault in unexpected if fault.kind is FaultKind.REMOVED}
    told = [
        fault for fault in unexpected if fault.kind not in _REQUIRED or fault.path not in removed
    ]
    yield from _fault_changes(map(_swap_sides, told), _UNEXPECTED, before.name, place)
    yield from _fault_changes(excluded, _EXCLUDED, before.name, place)
    yield from _text_changes("result-text-changed", was, now, before.name, place)


def _new_faults(found: Iterable[SchemaFault], said: Iterable[SchemaFault]) -> list[SchemaFault]:
    """Return faults of the other direction that say something new.

    A new type is reported once; values that came and values that went are two changes.
    """
    known = {(fault.kind, fault.path) for fault in said if fault.kind is not FaultKind.VALUE}
    return [fault for fault in found if (fault.kind, fault.path) not in known]


def _swap_sides(fault: SchemaFault) -> SchemaFault:
    """Return a fault of the other direction with the schema before the change first."""
    return replace(fault, narrow=fault.wide, wide=fault.narrow)


def _fault_changes(
    found: Iterable[SchemaFault], codes: Mapping[FaultKind, str], tool: str, place: Place
) -> Iterator[ReportedChange]:
    """Yield the changes of the faults that have a code."""
    for fault in found:
        if fault.kind in codes:
            yield rate(codes[fault.kind], place(fault.path), tool, fault.narrow, fault.wide)


def _arguments_of(tool: ServerItem) -> Json:
    """Return the schema of arguments; without declared or other members, it has none."""
    schema = {**tool.input, "type": "object"}
    declares = schema.keys() & {"$ref", "additionalProperties", "allOf", "anyOf", "oneOf"}
    return schema if schema.get("properties") or declares else {**schema, "properties": _NONE}


def _defaults(was: Json, now: Json, tool: str, place: Place) -> Iterator[ReportedChange]:
    ours, theirs = was.get("properties"), now.get("properties")
    if not is_object(ours) or not is_object(theirs):
        return
    for name in sorted(ours.keys() & theirs.keys()):
        before, after = (_default(side[name]) for side in (ours, theirs))
        if before != after:
            yield rate("argument-default-changed", place(name), tool, before, after)


def _default(schema: Any) -> str:
    has = is_object(schema) and "default" in schema
    return canonical(schema["default"]).decode() if has else "none"


def _text_changes(
    code: str, was: Json, now: Json, tool: str, place: Place
) -> Iterator[ReportedChange]:
    """Yield the new and changed texts at places that both schemas have."""
    ours, theirs = dict(_texts(was)), dict(_texts(now))
    for path, text in ours.items():
        if text and theirs.get(path, "") not in ("", text):
            yield rate(code, place(path), tool, *_shorten(text, theirs[path]))
    for path, text in theirs.items():
        if text and ours.get(path) == "":
            yield rate(code, place(path), tool, "", short_text(" ".join(text.split())))


def _texts(schema: Any) -> Iterator[tuple[str, str]]:
    """Yield the text at each place of a schema; most are empty."""
    for place, subschema in _members(schema, ""):
        said = (subschema.get(key) for key in ("title", "description"))
        yield place, "\n".join(text for text in said if isinstance(text, str))


def _members(schema: Any, path: str) -> Iterator[tuple[str, Json]]:
    """Yield the schemas inside a schema by place, without following references."""
    if not is_object(schema):
        return
    yield path, schema
    for key in sorted(schema.keys() - VALUES):
        value = schema[key]
        if key in ("properties", "patternProperties", "$defs", "definitions") and is_object(value):
            for name in value:
                inner = name if key == "properties" else f"{key}.{name}"
                yield from _members(value[name], f"{path}.{inner}" if path else inner)
        elif key == "items":
            yield from _members(value, f"{path}[]")
        elif is_array(value):
            for index, item in enumerate(value):
                yield from _members(item, f"{path}<{key} {index}>")
        elif is_object(value):
            yield from _members(value, f"{path}<{key}>")

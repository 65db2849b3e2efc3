"""Differences in facts of members that no schema has: known values and deprecations."""

from collections.abc import Iterator, Mapping

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.names import pascal
from mcp_protogen.instep.compare.definitions import Types
from mcp_protogen.instep.compare.members import Member, members
from mcp_protogen.pipeline.ir import FieldIR, ObjectIR
from mcp_protogen.pipeline.reports.severities import Difference


def changes(types: Types) -> Iterator[Difference]:
    """Yield the differences in the facts of members that both sides have."""
    was, now = types.derived_types
    for name, new in now.items():
        old = was.get(name)
        if not isinstance(new, ObjectIR) or not isinstance(old, ObjectIR):
            continue
        before = {field.wire: field for field in old.fields}
        for field in new.fields:
            if (earlier := before.get(field.wire)) is not None:
                yield from _field(types, name, earlier, field)


def _field(types: Types, owner: str, was: FieldIR, now: FieldIR) -> Iterator[Difference]:
    found = [*_values(was, now)]
    if was.deprecated != now.deprecated:
        found.append((f"field-{'' if now.deprecated else 'un'}deprecated", "", ""))
    if found:
        item, pointer, parent = _place(types, owner, now.wire)
        who = types.senders_of(parent, parent)
        yield from (Difference(code, item, pointer, gone, new, who) for code, gone, new in found)


def _values(was: FieldIR, now: FieldIR) -> Iterator[tuple[str, str, str]]:
    for value in now.known_values:
        if value not in was.known_values:
            yield _value_change("added", "", value)
    for value in was.known_values:
        if value not in now.known_values:
            yield _value_change("removed", value, "")


def _value_change(change: str, before: str, after: str) -> tuple[str, str, str]:
    return f"known-value-{change}", before, after


def _place(types: Types, owner: str, wire: str) -> tuple[str, str, str]:
    """Return a member of the wire: its path, its pointer, and its definition.

    `owner` may be an object without a name in the schema; it is then named after its place.
    """
    definitions = types.after.definitions
    parent = max((name for name in definitions if owner.startswith(name)), key=len, default=owner)
    inside: Mapping[str, Member] = (
        members(definitions, parent, message=False) if parent in definitions else {}
    )
    path, pointer = f"{owner}.{wire}", jsonpointer.join("$defs", owner, "properties", wire)
    for member in inside.values():
        *around, last = member.steps
        if last == wire and _name_of(around) == owner:
            path, pointer = member.path, member.pointer
    messages = [name for name in types.messages if parent == f"{name}Params"]
    return path.replace(parent, f"{messages[0]}.params", 1) if messages else path, pointer, parent


def _name_of(steps: list[str]) -> str:
    """Return the name of the object at the end of some steps in generated code."""
    start, *further = (step for step in steps if step not in ("[]", "{}"))
    return start + "".join(map(pascal, further))

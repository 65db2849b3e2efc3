"""The places of values that convenience functions read and write, from facts checked with types.

Facts of another revision may not fit. Then a result with a single required member of any value has
its structured value there (drafts of 2024: `toolResult`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import eq
from typing import Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.pipeline.derive.expressions import describe, plain
from mcp_protogen.pipeline.derive.unread_facts import Finding
from mcp_protogen.pipeline.derive.value_paths import UnknownPath, typed_path
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.inputs.todo import TODO
from mcp_protogen.pipeline.ir import (
    Anything,
    FieldIR,
    ListOf,
    MethodIR,
    ObjectIR,
    PlacesIR,
    Ref,
    Scalar,
    TypeExpr,
    TypeIR,
)
from mcp_protogen.runtime.core.spec import CALL_TOOL, LIST_TOOLS
from mcp_protogen.runtime.core.value_paths import PathEntry, ToolPlaces, ValuePath
from mcp_protogen.runtime.rules.task_methods import (
    CANCEL,
    CHANGED,
    CORE_CHANGED,
    GET,
    RESULT,
    UPDATE,
)

Types = Mapping[str, TypeIR]

ABOUT_TASKS: Final = (GET, CANCEL, RESULT, UPDATE, CHANGED, CORE_CHANGED)
"""The messages whose params name a task."""

_HINT = "write the path that the schema has, or null without one"
_PLACES_IN = {
    CALL_TOOL: ("tool_content", "tool_structured", "tool_error", "requested_outputs"),
    LIST_TOOLS: ("tool_content_variant", "tool_output_schema"),
}


def only_list(type_: TypeIR | None) -> FieldIR | None:
    """Return the member with the items of a page; None without exactly one list."""
    fields = type_.fields if isinstance(type_, ObjectIR) else ()
    lists = [member for member in fields if member.required and isinstance(member.type, ListOf)]
    return lists[0] if len(lists) == 1 else None


def find_places(
    facts: Facts, methods: Iterable[MethodIR], types: Types
) -> tuple[PlacesIR, list[Finding]]:
    """Return the places of a revision, and a finding for each fact that does not fit."""
    reader = _Reader(facts, types)
    methods = tuple(methods)
    by_name = {method.method: method for method in methods if method.kind == "request"}
    lists = [method for method in by_name.values() if "paginated" in method.traits]
    listed, called = (reader.method(name, by_name) for name in (LIST_TOOLS, CALL_TOOL))
    tools = only_list(types.get(listed.results[0])) if listed and listed.results else None
    item = tools.type.item if tools and isinstance(tools.type, ListOf) else None
    result = called.results[0] if called and called.results else ""
    tool = reader.tool_places(result) if result else None
    places = PlacesIR(
        item.name if isinstance(item, Ref) else "",
        result,
        tool,
        reader.entry("tool_content_variant", [item] if item else []),
        reader.path("tool_output_schema", [item] if item else []),
        reader.requested_outputs(
            [Ref(called.params)] if called and tool else [], (tool and tool.content) or ()
        ),
        reader.member("cursor", [Ref(method.params) for method in lists]),
        reader.member("next_cursor", [Ref(method.results[0]) for method in lists]),
        reader.common_member("task_id", list(_task_types(facts, methods))),
    )
    return places, reader.findings


def _task_types(facts: Facts, methods: Iterable[MethodIR]) -> Iterator[TypeExpr]:
    """Yield the types with the id of a task: states of tasks, and params that name one."""
    named = set(map(facts.name_of, ABOUT_TASKS))
    for method in methods:
        if method.method in named and method.params:
            yield Ref(method.params)
        if method.method == facts.name_of(GET):
            yield from map(Ref, method.results)


def with_places(type_: TypeIR, places: PlacesIR) -> TypeIR:
    """Return a type, with the places in it if it is the result of a tool."""
    if isinstance(type_, ObjectIR) and type_.name == places.result:
        return replace(type_, places=places.tool)
    return type_


@dataclass(frozen=True, slots=True)
class _Reader:
    facts: Facts
    types: Types
    findings: list[Finding] = field(default_factory=list[Finding])

    def method(self, known_as: str, methods: Mapping[str, MethodIR]) -> MethodIR | None:
        """Return a method by its first name; report the places in it if it is missing."""
        name = self.facts.name_of(known_as)
        for place in _PLACES_IN[known_as] if name not in methods else ():
            if self.facts.path_of(place) not in ("", TODO):
                hint = "write null, or its new name as `became` in the rules of translation"
                self._report(place, f"the schema has no request {name}", hint)
        return methods.get(name)

    def tool_places(self, result: str) -> ToolPlaces | None:
        content = self.path("tool_content", [Ref(result)], _is_list)
        structured = self.path("tool_structured", [Ref(result)])
        error = self.path("tool_error", [Ref(result)], partial(eq, Scalar("boolean")))
        if not content and not structured and self.facts.inherited:
            structured = self._only_value(result)
        if not content and not structured:
            if TODO not in map(self.facts.path_of, ("tool_content", "tool_structured")):
                message = f"nothing says where {result} has the value of a tool"
                self._report("tool_content", message)
            return None
        return ToolPlaces(content, structured, error)

    def member(self, name: str, owners: list[TypeExpr]) -> str:
        """Return the member for a cursor in the types of lists; empty for a missing one."""
        path = self.path(name, owners, partial(eq, Scalar("string"))) or ("",)
        if len(path) == 1 and isinstance(path[0], str):
            return path[0]
        self._report(name, "it must be a member, without objects or entries around it")
        return ""

    def common_member(self, name: str, owners: Iterable[TypeExpr]) -> str:
        """Return the member that each of the types has; empty for a missing one."""
        found = ""
        for owner in owners:
            found = self.member(name, [owner])
            if not found:
                break
        return found

    def entry(self, name: str, owners: list[TypeExpr]) -> ValuePath | None:
        """Return the path of a fact that leads to an entry."""
        path = self.path(name, owners)
        if path is None or isinstance(path[-1], PathEntry):
            return path
        self._report(name, "it must be an entry, which its constants describe")
        return None

    def requested_outputs(self, owners: list[TypeExpr], content: ValuePath) -> ValuePath | None:
        """Return the path of the entry in params that requests content."""
        name = "requested_outputs"
        path = self.entry(name, owners)
        if path and len(path) > 2:
            self._report(name, "it must be in a member of the params, without objects between")
            return None
        if path and not any(isinstance(step, PathEntry) and not step.key for step in content):
            self._report(name, "tool_content leads through no array of outputs")
            return None
        return path

    def path(
        self, name: str, owners: list[TypeExpr], fits: Callable[[TypeExpr], bool] | None = None
    ) -> ValuePath | None:
        """Return the path of a fact from the first type that has it."""
        text, reason = self.facts.path_of(name), ""
        for owner in owners if text not in ("", TODO) else ():
            try:
                found = typed_path(text, owner, self.types)
            except UnknownPath as error:
                reason = reason or f"{describe(owner)}: {error}"
            else:
                if fits is None or fits(plain(found.type, self.types)):
                    return found.path
                reason = reason or f"{describe(owner)}: {text} is {describe(found.type)}"
        if reason:
            self._report(name, reason)
        return None

    def _only_value(self, result: str) -> ValuePath | None:
        type_ = self.types.get(result)
        fields = type_.fields if isinstance(type_, ObjectIR) else ()
        values = [member for member in fields if member.required and member.type == Anything()]
        return (values[0].wire,) if len(values) == 1 else None

    def _report(self, name: str, message: str, hint: str = _HINT) -> None:
        pointer = jsonpointer.join("places", name)
        self.findings.append(("facts-disagree", message, pointer, hint))


def _is_list(type_: TypeExpr) -> bool:
    return isinstance(type_, ListOf)

"""The contract of a server: the arguments and results of its tools, prompts and resources.

A server is not trusted: its data is checked and bounded here, before other code reads it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, cast

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_deeper, is_object
from mcp_protogen.base.printable import pluralize, summarize_list
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.servers.call.kinds import Kind, prompt_arguments
from mcp_protogen.servers.call.templates import uri_variables

Json = dict[str, Any]

ITEM_KINDS: Final = (Kind.TOOLS, Kind.PROMPTS, Kind.TEMPLATES)
"""The kinds of items in a contract."""
MOST_ITEMS: Final = 2_000
"""The most items of one kind."""
MOST_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of JSON for all items of one kind."""
DEEPEST: Final = 64
"""The most levels of objects and arrays in a schema."""
_HINT: Final = "tell the authors of the server; --tool NAME chooses the tools to read"
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_COMMON_MEMBERS: Final = frozenset({"name", "title", "description", "icons", "_meta"})
_MEMBERS_BY_KIND: Final[Mapping[Kind, frozenset[str]]] = {
    Kind.TOOLS: frozenset({"inputSchema", "outputSchema", "annotations", "execution"}),
    Kind.PROMPTS: frozenset({"arguments"}),
    Kind.RESOURCES: frozenset({"uri"}),
    Kind.TEMPLATES: frozenset({"uriTemplate"}),
}


class TaskSupport(StrEnum):
    """A tool's support of calls as tasks (2025-11-25, basic/utilities/tasks)."""

    FORBIDDEN = "forbidden"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerItem:
    """A tool, a prompt, a resource or a resource template as its server describes it.

    `input` is the schema of its arguments; arguments of prompts and templates are texts.
    `annotations` has the hints for a tool, `uri` is that of a resource or its template. `icons` and
    `meta` are JSON values for hosts.
    """

    kind: Kind
    name: str
    input: Json
    output: Json | None = None
    title: str = ""
    description: str = ""
    annotations: Mapping[str, bool] = field(default_factory=dict[str, bool])
    uri: str = ""
    task_support: TaskSupport = TaskSupport.FORBIDDEN
    icons: Any = None
    meta: Any = None

    def as_json(self) -> Json:
        """Return the members that have a value, as servers list them."""
        members: Json = {"name": self.name, "title": self.title, "description": self.description}
        members |= {"icons": self.icons, "_meta": self.meta}
        match self.kind:
            case Kind.PROMPTS:
                members["arguments"] = [*self._prompt_arguments()]
            case Kind.RESOURCES:
                members["name"] = self.uri
            case Kind.TEMPLATES:
                members["uriTemplate"] = self.uri
            case _:
                members |= {"inputSchema": self.input, "outputSchema": self.output}
                members["annotations"] = dict(self.annotations)
                if self.task_support is not TaskSupport.FORBIDDEN:
                    members["execution"] = {"taskSupport": self.task_support.value}
        return {name: value for name, value in members.items() if value or name == "inputSchema"}

    def _prompt_arguments(self) -> Iterator[Json]:
        for name, schema in self.input["properties"].items():
            about = {key: value for key, value in schema.items() if key != "type"}
            yield {"name": name, **about, "required": name in self.input["required"]}


@dataclass(frozen=True, slots=True)
class Contract:
    """A server's name and version, the revision it spoke, and its items.

    With `task_extension`, the server decides which calls become tasks (extension
    `io.modelcontextprotocol/tasks`). `warnings` are about items that broke the schema, and are not
    part of the contract.
    """

    server: str
    version: str
    revision: str
    items_by_kind: Mapping[Kind, Mapping[str, ServerItem]]
    task_extension: bool = False
    warnings: tuple[Problem, ...] = field(default=(), compare=False)

    @property
    def tools(self) -> Mapping[str, ServerItem]:
        """The tools by name."""
        return self.items_by_kind[Kind.TOOLS]

    @property
    def only_as_tasks(self) -> list[str]:
        """The names of the tools that say they can only be called as tasks."""
        required = TaskSupport.REQUIRED
        return [name for name, tool in self.tools.items() if tool.task_support is required]

    @property
    def calls_tasks(self) -> bool:
        """Return whether some tools may fail for a client without tasks."""
        return self.task_extension or bool(self.only_as_tasks)

    def only(self, names: Iterable[str]) -> "Contract":
        """Return the contract with only these tools; raise `ProblemError` (`no-such-tool`)."""
        wanted = tuple(names)
        self.require(wanted)
        tools = {name: tool for name, tool in self.tools.items() if name in wanted}
        return replace(
            self, items_by_kind={kind: tools if kind is Kind.TOOLS else {} for kind in ITEM_KINDS}
        )

    def without(self, names: Collection[str]) -> "Contract":
        """Return the contract without these tools."""
        tools = {name: tool for name, tool in self.tools.items() if name not in names}
        return replace(self, items_by_kind={**self.items_by_kind, Kind.TOOLS: tools})

    def require(self, names: Iterable[str]) -> None:
        """Raise `ProblemError` (`no-such-tool`) for names that no tool has."""
        unknown = [name for name in names if name not in self.tools]
        if unknown:
            raise ProblemError(*(_no_such_tool(name, self.tools) for name in unknown))

    def counts(self) -> str:
        """Return the number of items of each kind: `2 tools, 1 prompt`."""
        return ", ".join(
            pluralize(len(items), kind.singular)
            for kind, items in self.items_by_kind.items()
            if items or kind is Kind.TOOLS
        )

    def as_json(self) -> Json:
        """Return the contract in the format of a lock."""
        lists = {
            kind.member: [item.as_json() for item in self.items_by_kind[kind].values()]
            for kind in ITEM_KINDS
            if kind is Kind.TOOLS or self.items_by_kind[kind]
        }
        about = {"name": self.server, "version": self.version}
        extension = {"taskExtension": True} if self.task_extension else {}
        return {"server": about, "revision": self.revision, **extension, **lists}


def _no_such_tool(name: str, tools: Mapping[str, ServerItem]) -> Problem:
    hint = did_you_mean(name, tools, f"it has {summarize_list(sorted(tools), 20) or 'no tools'}")
    return Problem("no-such-tool", f"the server has no tool {name!r:.80}", hint=hint)


def contract(
    server: object,
    revision: str,
    lists: Mapping[Kind, Iterable[object]],
    *,
    task_extension: bool = False,
) -> Contract:
    """Return the contract of a server from its `Implementation` and its lists, as JSON values.

    Raise `ProblemError` (`bad-contract`) for invalid or too large lists.
    """
    about: Json = server if is_object(server) else {}
    name = str(about.get("name") or "unnamed")
    items_by_kind = {kind: read_items(kind, lists.get(kind, ()), name) for kind in ITEM_KINDS}
    return Contract(name, str(about.get("version") or ""), revision, items_by_kind, task_extension)


def read_items(kind: Kind, listed: Iterable[object], place: str) -> Mapping[str, ServerItem]:
    """Return the items of a list, sorted by name, or by URI for resources.

    Raise `ProblemError` (`bad-contract`).
    """
    found: dict[str, ServerItem] = {}
    size, what = 0, kind.singular
    for value in listed:
        item = _read_item(kind, value, place)
        size += len(canonical(item.as_json()))
        # The names of resources and templates need not differ.
        if kind is Kind.RESOURCES or (item.name in found and kind is Kind.TEMPLATES):
            item = replace(item, name=item.uri)
        if item.name in found:
            raise _bad(f"two {what}s are called {item.name!r:.80}", place)
        if len(found) == MOST_ITEMS or size > MOST_BYTES:
            raise _bad(f"there are more than {MOST_ITEMS} {what}s or {MOST_BYTES} bytes", place)
        found[item.name] = item
    return dict(sorted(found.items()))


def read_contract(value: Any, place: str) -> Contract:
    """Return the contract in a lock; raise `ProblemError` (`bad-contract`)."""
    if not is_object(value) or not is_array(value.get("tools")):
        raise _bad("the list of tools is missing", place)
    lists: dict[Kind, Any] = {kind: value.get(kind.member, []) for kind in ITEM_KINDS}
    if not all(map(is_array, lists.values())):
        raise _bad("prompts or resource templates are not a list", place)
    revision, extension = str(value.get("revision", "")), value.get("taskExtension") is True
    return contract(value.get("server"), revision, lists, task_extension=extension)


def _read_item(kind: Kind, value: object, place: str) -> ServerItem:
    what = kind.singular
    if not is_object(value) or not isinstance(value.get("name"), str) or not value["name"]:
        raise _bad(f"a {what} has no name", place)
    name: str = value["name"]
    known = _COMMON_MEMBERS | _MEMBERS_BY_KIND[kind]
    kept = {key: member for key, member in value.items() if key in known}
    if is_deeper(kept, DEEPEST):
        raise _bad(f"the {what} {name!r:.80} is nested more than {DEEPEST} levels deep", place)
    try:
        canonical(kept)
    except (ValueError, UnicodeEncodeError) as error:
        raise _bad(f"the {what} {name!r:.80} is not valid JSON: {error}", place) from error
    schema, output, uri = _schemas(kind, kept)
    for given in (schema, output):
        if given is not None and not is_object(given):
            raise _bad(f"a schema of the {what} {name!r:.80} is not an object", place)
    hints: Any = kept.get("annotations")
    return ServerItem(
        kind=kind,
        name=name,
        input=schema,
        output=cast("Json | None", output),
        title=_text(kept.get("title")) or _text(_member(hints, "title")),
        description=_text(kept.get("description")),
        annotations=dict(_flags(hints)),
        uri=uri,
        task_support=_task_support(_member(kept.get("execution"), "taskSupport")),
        icons=kept.get("icons"),
        meta=kept.get("_meta"),
    )


def _schemas(kind: Kind, kept: Json) -> tuple[Any, Any, str]:
    """Return the schemas of arguments and results, and the template of a resource."""
    if kind is Kind.TOOLS:
        return kept.get("inputSchema", {"type": "object"}), kept.get("outputSchema"), ""
    members: Json = {}
    required: list[str] = []
    uri = _text(kept.get("uri" if kind is Kind.RESOURCES else "uriTemplate"))
    if kind is Kind.RESOURCES:
        return {"type": "object"}, None, uri
    for variable in uri_variables(uri).values():
        text: Json = {"type": "string"}
        members[variable.name] = {"type": "array", "items": text} if variable.exploded else text
        required += [variable.name] if variable.required else []
    for argument in prompt_arguments(kept):
        name, about = _text(argument.get("name")), _text(argument.get("description"))
        members[name] = {"type": "string", **({"description": about} if about else {})}
        required += [name] if argument.get("required") is True else []
    return {"type": "object", "properties": members, "required": required}, None, uri


def _member(value: Any, name: str) -> Any:
    return value.get(name) if is_object(value) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _task_support(value: object) -> TaskSupport:
    """Return the support that a tool declares; unknown values count as no declaration."""
    return next((known for known in TaskSupport if known == value), TaskSupport.FORBIDDEN)


def _flags(hints: Any) -> Iterator[tuple[str, bool]]:
    for hint in _HINTS:
        value = _member(hints, hint)
        if isinstance(value, bool):
            yield hint, value


def _bad(message: str, place: str) -> ProblemError:
    return ProblemError(Problem("bad-contract", message, place, hint=_HINT))

"""The contract of a server: what its tools, prompts and resource templates take and return.

A server is not trusted: whatever it says is checked and bounded here, before anything reads it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, cast

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.printable import pluralize, summarize_list
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.runtime.core.uri_expansion import uri_variables
from mcp_protogen.servers.call.kinds import Kind, prompt_arguments

Json = dict[str, Any]

OFFERED: Final = (Kind.TOOLS, Kind.PROMPTS, Kind.TEMPLATES)
"""What a contract has."""
MOST_OFFERS: Final = 2_000
"""The most of one kind."""
MOST_BYTES: Final = 16 * 1024 * 1024
"""The most that all of one kind may have as JSON."""
DEEPEST: Final = 64
"""How deep objects and arrays of a schema may be nested."""
_HINT: Final = "tell the authors of the server; --tool NAME chooses the tools to read"
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_KEPT: Final = frozenset({"name", "title", "description", "icons", "_meta"})
_OF_KIND: Final[Mapping[Kind, frozenset[str]]] = {
    Kind.TOOLS: frozenset({"inputSchema", "outputSchema", "annotations", "execution"}),
    Kind.PROMPTS: frozenset({"arguments"}),
    Kind.TEMPLATES: frozenset({"uriTemplate"}),
}


class TaskSupport(StrEnum):
    """Whether a tool can be called as a task (2025-11-25, basic/utilities/tasks)."""

    FORBIDDEN = "forbidden"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOffer:
    """A tool, a prompt or a resource template as its server describes it.

    `input` is the schema of its arguments, all texts but for tools. `annotations` has those hints
    that the server gives of a tool, `uri` is the template of a resource. `icons` and `meta` are for
    hosts, as JSON values.
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
    """What a server said: its name and version, the revision it spoke, and what it offers.

    `task_extension` says that it decides itself which calls become tasks (extension
    `io.modelcontextprotocol/tasks`). `warnings` are about offers that broke the schema, and are not
    part of the contract.
    """

    server: str
    version: str
    revision: str
    offers: Mapping[Kind, Mapping[str, ServerOffer]]
    task_extension: bool = False
    warnings: tuple[Problem, ...] = field(default=(), compare=False)

    @property
    def tools(self) -> Mapping[str, ServerOffer]:
        """The tools by name."""
        return self.offers[Kind.TOOLS]

    @property
    def only_as_tasks(self) -> list[str]:
        """The names of the tools that can only be called as tasks, as far as they say so."""
        required = TaskSupport.REQUIRED
        return [name for name, tool in self.tools.items() if tool.task_support is required]

    @property
    def calls_tasks(self) -> bool:
        """Return whether some tools may fail for a client without tasks."""
        return self.task_extension or bool(self.only_as_tasks)

    def only(self, names: Iterable[str]) -> "Contract":
        """Return it with the tools of these names alone; raise `ProblemError` (`no-such-tool`)."""
        wanted = tuple(names)
        self.require(wanted)
        tools = {name: tool for name, tool in self.tools.items() if name in wanted}
        return replace(self, offers={kind: tools if kind is Kind.TOOLS else {} for kind in OFFERED})

    def without(self, names: Collection[str]) -> "Contract":
        """Return it without the tools of these names."""
        tools = {name: tool for name, tool in self.tools.items() if name not in names}
        return replace(self, offers={**self.offers, Kind.TOOLS: tools})

    def require(self, names: Iterable[str]) -> None:
        """Raise `ProblemError` (`no-such-tool`) for names that no tool has."""
        unknown = [name for name in names if name not in self.tools]
        if unknown:
            raise ProblemError(*(_unknown(name, self.tools) for name in unknown))

    def counts(self) -> str:
        """Return how many there are of each kind: `2 tools, 1 prompt`."""
        return ", ".join(
            pluralize(len(offers), kind.singular)
            for kind, offers in self.offers.items()
            if offers or kind is Kind.TOOLS
        )

    def as_json(self) -> Json:
        """Return the contract as a lock has it."""
        lists = {
            kind.member: [offer.as_json() for offer in self.offers[kind].values()]
            for kind in OFFERED
            if kind is Kind.TOOLS or self.offers[kind]
        }
        about = {"name": self.server, "version": self.version}
        extension = {"taskExtension": True} if self.task_extension else {}
        return {"server": about, "revision": self.revision, **extension, **lists}


def _unknown(name: str, tools: Mapping[str, ServerOffer]) -> Problem:
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

    Raise `ProblemError` (`bad-contract`) for what is no list of tools, or is too large.
    """
    about: Json = server if is_object(server) else {}
    name = str(about.get("name") or "unnamed")
    offers = {kind: _offers(kind, lists.get(kind, ()), name) for kind in OFFERED}
    return Contract(name, str(about.get("version") or ""), revision, offers, task_extension)


def _offers(kind: Kind, listed_ones: Iterable[object], place: str) -> Mapping[str, ServerOffer]:
    found: dict[str, ServerOffer] = {}
    size, what = 0, kind.singular
    for value in listed_ones:
        offer = _offer(kind, value, place)
        size += len(canonical(offer.as_json()))
        if offer.name in found and kind is Kind.TEMPLATES:  # their names need not differ
            offer = replace(offer, name=offer.uri)
        if offer.name in found:
            raise _bad(f"two {what}s are called {offer.name!r:.80}", place)
        if len(found) == MOST_OFFERS or size > MOST_BYTES:
            raise _bad(f"there are more than {MOST_OFFERS} {what}s or {MOST_BYTES} bytes", place)
        found[offer.name] = offer
    return dict(sorted(found.items()))


def read_contract(value: Any, place: str) -> Contract:
    """Return the contract in a lock; raise `ProblemError` (`bad-contract`)."""
    if not is_object(value) or not is_array(value.get("tools")):
        raise _bad("there is no list of tools", place)
    lists: dict[Kind, Any] = {kind: value.get(kind.member, []) for kind in OFFERED}
    if not all(map(is_array, lists.values())):
        raise _bad("what is offered is no list", place)
    revision, extension = str(value.get("revision", "")), value.get("taskExtension") is True
    return contract(value.get("server"), revision, lists, task_extension=extension)


def _offer(kind: Kind, value: object, place: str) -> ServerOffer:
    what = kind.singular
    if not is_object(value) or not isinstance(value.get("name"), str) or not value["name"]:
        raise _bad(f"a {what} has no name", place)
    name: str = value["name"]
    kept = {key: member for key, member in value.items() if key in _KEPT | _OF_KIND[kind]}
    if _depth(kept) > DEEPEST:
        raise _bad(f"the {what} {name!r:.80} is nested more than {DEEPEST} levels deep", place)
    try:
        canonical(kept)
    except (ValueError, UnicodeEncodeError) as error:
        raise _bad(f"the {what} {name!r:.80} has what JSON cannot say: {error}", place) from error
    schema, output, uri = _schemas(kind, kept)
    for candidate in (schema, output):
        if candidate is not None and not is_object(candidate):
            raise _bad(f"a schema of the {what} {name!r:.80} is no object", place)
    hints: Any = kept.get("annotations")
    return ServerOffer(
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
    """Return the schemas of what is given and returned, and the template of a resource."""
    if kind is Kind.TOOLS:
        return kept.get("inputSchema", {"type": "object"}), kept.get("outputSchema"), ""
    members: Json = {}
    required: list[str] = []
    uri = _text(kept.get("uriTemplate"))
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
    """Return the support that a tool declares; anything unknown is as if it declared none."""
    return next((known for known in TaskSupport if known == value), TaskSupport.FORBIDDEN)


def _flags(hints: Any) -> Iterator[tuple[str, bool]]:
    for hint in _HINTS:
        value = _member(hints, hint)
        if isinstance(value, bool):
            yield hint, value


def _depth(value: Any) -> int:
    """Return how deep a value is nested, at most one more than is allowed."""
    deepest, left = 0, [(value, 1)]
    while left and deepest <= DEEPEST:
        one, depth = left.pop()
        deepest = max(deepest, depth)
        inner: Iterable[Any] = one.values() if is_object(one) else one if is_array(one) else ()
        left += [(item, depth + 1) for item in inner]
    return deepest


def _bad(message: str, place: str) -> ProblemError:
    return ProblemError(Problem("bad-contract", message, place, hint=_HINT))

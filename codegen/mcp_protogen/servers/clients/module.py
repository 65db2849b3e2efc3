"""The text of a generated module: models, and classes with methods for tools, async or blocking."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from mcp_protogen.base.names import pascal
from mcp_protogen.base.printable import summarize_list
from mcp_protogen.base.problems import raise_errors
from mcp_protogen.base.resources import templates_folder
from mcp_protogen.pipeline.emit import formatting, verify
from mcp_protogen.pipeline.emit.models import Definition, TypeDefiner
from mcp_protogen.pipeline.emit.sandbox import sandbox
from mcp_protogen.pipeline.emit.text import docstring, literal
from mcp_protogen.pipeline.ir import Anything, ListOf, MapOf, Ref, Scalar, TypeExpr
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.clients.contract import ITEM_KINDS, ServerItem, TaskSupport
from mcp_protogen.servers.clients.naming import class_text
from mcp_protogen.servers.clients.package import PackageTasks
from mcp_protogen.servers.clients.types import Argument, ClientMethod, TypedServer, shorten
from mcp_protogen.targets.python.annotations import hint

Json = Mapping[str, Any]

_TEMPLATE: Final = "client.py.jinja"
_OF_PACKAGE: Final = frozenset(
    {"Exact", "Implied", "Integer", "Nullable", "Number", "OMITTED", "Omitted", "WireModel"}
)
_PLACES: Final[Mapping[str, frozenset[str]]] = {
    "typing": frozenset({"Annotated", "Any", "ClassVar", "Literal", "TYPE_CHECKING", "TypeAlias"}),
    "pydantic": frozenset({"Field", "TypeAdapter"}),
    "typing_extensions": frozenset({"TypeAliasType"}),
}
_HINTS: Final = {
    "readOnlyHint": ("Reads only.", "Changes something."),
    "destructiveHint": ("May destroy something.", "Only adds."),
    "idempotentHint": ("The same call again changes nothing more.", "Each call changes something."),
    "openWorldHint": ("Reaches what is outside.", "Reaches nothing outside."),
}
_TASKS: Final = {
    TaskSupport.OPTIONAL: ["Can be called as a task."],
    TaskSupport.REQUIRED: ["Is always called as a task."],
}

# The method to send, the type of its result, and a text for an item without a description.
_REQUESTS: Final[Mapping[Kind, tuple[str, str, str]]] = {
    Kind.TOOLS: ("call_tool", "CallToolResult", "Call the tool"),
    Kind.PROMPTS: ("get_prompt", "GetPromptResult", "Get the prompt"),
    Kind.TEMPLATES: ("read_resource", "ReadResourceResult", "Read the resource"),
}
_BESIDE: Final[Mapping[Kind, str]] = {Kind.PROMPTS: "prompts", Kind.TEMPLATES: "resources"}
"""The attributes of the client that lead to the other classes."""


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """The names in a module: its class, the imported package, and the revision there.

    `tasks` is the kind of tasks that its connections have.
    """

    client: str
    package: str
    revision_module: str
    tasks: PackageTasks = PackageTasks.NONE

    def of_kind(self, kind: Kind) -> str:
        """Return the class of the methods of one kind; with `Sync`, that of the blocking ones."""
        return self.client.removesuffix("Client") + _BESIDE.get(kind, "client").title()

    @property
    def classes(self) -> Iterator[str]:
        """The names of all possible classes other than models."""
        for name in map(self.of_kind, ITEM_KINDS):
            yield from (name, f"Sync{name}")


def class_of(file: PurePath) -> str:
    """Return the name of the class in a file: `weather_client.py` → `WeatherClient`."""
    name = class_text(pascal(file.stem)) or "Server"
    return name if name.endswith("Client") else f"{name}Client"


def module_text(server: TypedServer, names: ModuleNames, left_out: Sequence[str]) -> str:
    """Return the module, in the layout of black; `left_out` are tools that it cannot call.

    Raise `ProblemError` (`bad-output`) for a fault of this program: no text of a server can change
    the structure of the module.
    """
    contract = server.contract
    definitions: Mapping[str, Definition] = {}
    if server.types:
        definitions = TypeDefiner(templates_folder()).define(server.types)
    methods = [_view(method, names) for method in server.methods]
    results = {view["result"] for view in methods} & {result for _, result, _ in _REQUESTS.values()}
    used = frozenset[str]().union(*(definition.used for definition in definitions.values()))
    used |= frozenset(word for view in methods for word in view["uses"])
    filters: dict[str, Callable[..., str]] = {"literal": literal, "docstring": docstring}
    environment = sandbox(templates_folder() / "typed_clients", filters)
    source = environment.get_template(_TEMPLATE).render(
        about=f"{contract.counts()}, listed in revision {contract.revision}.",
        title=f"{contract.server} {contract.version}".strip(),
        names=names,
        classes=[*_classes(methods, names)],
        imports={place: _sort_imports(used & provided) for place, provided in _PLACES.items()},
        left_out=summarize_list([f"{name!r:.80}" for name in left_out], 20),
        of_package=_sort_imports(
            {"SyncToolClient", "ToolClient", "connect", *(used & _OF_PACKAGE)}
            | ({"TaskCalls"} if names.tasks is PackageTasks.CORE else set())
        ),
        results=sorted(results),
        definitions=[definition.text for definition in definitions.values()],
    )
    text = formatting.HEAD + formatting.format_module(source, ours=False)
    tree = formatting.parse_module(text, "the module", _TEMPLATE)
    raise_errors(verify.module(tree, "the module"))
    return text


def _sort_imports(names: Iterable[str]) -> list[str]:
    """Return names as import lines have them: constants, classes, functions."""
    return sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))


def _classes(methods: Sequence[Json], names: ModuleNames) -> Iterator[Json]:
    """Yield the classes; the client comes last, because it refers to the others."""
    beside: dict[str, str] = {}
    for kind in (*_BESIDE, Kind.TOOLS):
        own = [method for method in methods if method["kind"] is kind]
        what, name = _BESIDE.get(kind, "tools"), names.of_kind(kind)
        if kind is Kind.TOOLS:
            yield {"name": name, "what": what, "methods": own, "beside": beside}
        elif own:
            beside[what] = name
            yield {"name": name, "what": what, "methods": own, "beside": {}}


def _view(method: ClientMethod, names: ModuleNames) -> Json:
    given = [_Parameter(argument) for argument in method.arguments or ()]
    free = method.arguments is None
    how, whole, _ = _REQUESTS[method.item.kind]
    result = whole if method.returns is None else hint(method.returns)
    returns = result if method.unwrapped is None else hint(method.unwrapped)
    hints = [
        returns,
        *(parameter.annotation for parameter in given),
        *(parameter.default for parameter in given),
    ]
    return {
        "kind": method.item.kind,
        "offer": method.item.uri or method.item.name,
        "name": method.name,
        "parameters": [parameter.text for parameter in given],
        "free": free,
        "given": [parameter.entry for parameter in given if not parameter.left_out],
        "optional": [parameter.entry for parameter in given if parameter.left_out],
        "call": f'_result("{how}", ' if method.returns is None else "_call(",
        "result": _read_as(method.returns, result),
        "returns": returns,
        "unwrapped": method.unwrapped is not None,
        "doc": _doc(method, free=free),
        "short": _text(method.item).partition("\n\n")[0],
        "uses": {*_words([*hints, _read_as(method.returns, result)]), *(["Any"] if free else [])},
    }


def _read_as(expr: TypeExpr | None, given: str) -> str:
    """Return the reader of a result: its type, or an adapter if that is not a class."""
    is_class = (
        expr is None
        or isinstance(expr, Ref | ListOf | MapOf)
        or (isinstance(expr, Scalar) and expr.kind != "null")
    )
    return given if is_class else f"TypeAdapter[{given}]({given})"


def _words(hints: Iterable[str]) -> Iterator[str]:
    for text in hints:
        yield from (node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


@dataclass(frozen=True, slots=True)
class _Parameter:
    """An argument as a keyword parameter of a method."""

    argument: Argument

    @property
    def left_out(self) -> bool:
        """Return whether None means that the argument is not sent."""
        return self.default == "None"

    @property
    def default(self) -> str:
        """The default as an expression; empty for a required argument."""
        one = self.argument
        if one.required:
            return ""
        if one.has_default:
            return literal(one.default)
        return "OMITTED" if one.nullable and not isinstance(one.type, Anything) else "None"

    @property
    def annotation(self) -> str:
        one = self.argument
        plain = hint(one.type)
        if one.required or (one.has_default and one.default is not None):
            return plain
        if self.default == "OMITTED":
            return f"{plain} | Omitted"
        return plain if one.nullable else f"{plain} | None"

    @property
    def text(self) -> str:
        default = f" = {self.default}" if self.default else ""
        return f"{self.argument.name}: {self.annotation}{default}"

    @property
    def entry(self) -> str:
        """The entry of the dictionary that is sent."""
        return f"{literal(self.argument.wire)}: {self.argument.name}"


def _text(item: ServerItem) -> str:
    usual = f"{_REQUESTS[item.kind][2]} {item.name}."
    return shorten(item.description.strip()) or item.title or usual


def _doc(method: ClientMethod, *, free: bool) -> str:
    item = method.item
    parts = [_text(item)]
    if item.title and item.description:
        parts.insert(0, f"{item.title}.")
    listed = [
        f":param {argument.name}: {' '.join(argument.doc.split())}"
        for argument in method.arguments or ()
        if argument.doc
    ]
    if free:
        listed = [":param arguments: All arguments, by their names."]
    if listed:
        parts.append("\n".join(listed))
    # The next two have no meaning for a tool that only reads.
    reads = item.annotations.get("readOnlyHint", False)
    passed = ("destructiveHint", "idempotentHint") if reads else ()
    hints = [
        _HINTS[name][not value] for name, value in item.annotations.items() if name not in passed
    ]
    hints += _TASKS.get(item.task_support, [])
    if hints:
        parts.append(f"The server says: {' '.join(hints)}")
    return "\n\n".join(parts)

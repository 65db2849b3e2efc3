"""The contract of a server: what its tools take and return, as plain values.

A server is not trusted: whatever it says is checked and bounded here, before anything reads it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.printable import listed
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.suggest import did_you_mean

Json = dict[str, Any]

MOST_TOOLS: Final = 2_000
MOST_BYTES: Final = 16 * 1024 * 1024
"""The most that all tools may have as JSON."""
DEEPEST: Final = 64
"""How deep objects and arrays of a schema may be nested."""
_HINT: Final = "tell the authors of the server; --tool NAME chooses the tools to read"
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_KEPT: Final = frozenset(
    {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as its server describes it; `annotations` has those hints that the server gives."""

    name: str
    input: Json
    output: Json | None = None
    title: str = ""
    description: str = ""
    annotations: Mapping[str, bool] = field(default_factory=dict[str, bool])

    def as_json(self) -> Json:
        """Return the members that have a value, as in `tools/list`."""
        members: Json = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input,
            "outputSchema": self.output,
            "annotations": dict(self.annotations),
        }
        return {name: value for name, value in members.items() if value or name == "inputSchema"}


@dataclass(frozen=True, slots=True)
class Contract:
    """What a server said: its name and version, the revision it spoke, and its tools by name."""

    server: str
    version: str
    revision: str
    tools: Mapping[str, Tool]

    def only(self, names: Iterable[str]) -> "Contract":
        """Return it with the tools of these names; raise `ProblemError` (`no-such-tool`)."""
        wanted = tuple(names)
        unknown = [name for name in wanted if name not in self.tools]
        if unknown:
            raise ProblemError(*(_unknown(name, self.tools) for name in unknown))
        tools = {name: tool for name, tool in self.tools.items() if name in wanted}
        return Contract(self.server, self.version, self.revision, tools)

    def as_json(self) -> Json:
        """Return the contract as a lock has it."""
        return {
            "server": {"name": self.server, "version": self.version},
            "revision": self.revision,
            "tools": [tool.as_json() for tool in self.tools.values()],
        }


def _unknown(name: str, tools: Mapping[str, Tool]) -> Problem:
    hint = did_you_mean(name, tools, f"it has {listed(sorted(tools), 20) or 'no tools'}")
    return Problem("no-such-tool", f"the server has no tool {name!r:.80}", hint=hint)


def contract(server: object, revision: str, listed_tools: Iterable[object]) -> Contract:
    """Return the contract of a server from its `Implementation` and its tools, as JSON values.

    Raise `ProblemError` (`bad-contract`) for what is no list of tools, or is too large.
    """
    about: Json = server if is_object(server) else {}
    name = str(about.get("name") or "unnamed")
    tools: dict[str, Tool] = {}
    size = 0
    for value in listed_tools:
        tool = _tool(value, name)
        size += len(canonical(tool.as_json()))
        if tool.name in tools:
            raise _bad(f"two tools are called {tool.name!r:.80}", name)
        if len(tools) == MOST_TOOLS or size > MOST_BYTES:
            raise _bad(f"there are more than {MOST_TOOLS} tools or {MOST_BYTES} bytes", name)
        tools[tool.name] = tool
    version = str(about.get("version") or "")
    return Contract(name, version, revision, dict(sorted(tools.items())))


def read_contract(value: Any, place: str) -> Contract:
    """Return the contract in a lock; raise `ProblemError` (`bad-contract`)."""
    if not is_object(value) or not is_array(value.get("tools")):
        raise _bad("there is no list of tools", place)
    return contract(value.get("server"), str(value.get("revision", "")), value["tools"])


def _tool(value: object, place: str) -> Tool:
    if not is_object(value) or not isinstance(value.get("name"), str) or not value["name"]:
        raise _bad("a tool has no name", place)
    name: str = value["name"]
    kept = {key: one for key, one in value.items() if key in _KEPT}
    if _depth(kept) > DEEPEST:
        raise _bad(f"the tool {name!r:.80} is nested more than {DEEPEST} levels deep", place)
    try:
        canonical(kept)
    except (ValueError, UnicodeEncodeError) as error:
        raise _bad(f"the tool {name!r:.80} has what JSON cannot say: {error}", place) from error
    schema, output = kept.get("inputSchema", {"type": "object"}), kept.get("outputSchema")
    for one in (schema, output):
        if one is not None and not is_object(one):
            raise _bad(f"a schema of the tool {name!r:.80} is no object", place)
    hints: Any = kept.get("annotations")
    return Tool(
        name=name,
        input=schema,
        output=cast("Json | None", output),
        title=_text(kept.get("title")) or _text(_member(hints, "title")),
        description=_text(kept.get("description")),
        annotations=dict(_flags(hints)),
    )


def _member(value: Any, name: str) -> Any:
    return value.get(name) if is_object(value) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


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

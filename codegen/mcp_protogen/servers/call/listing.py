"""The lists of a server: tools, prompts, resources and templates, fetched and shown."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.printable import pluralize
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean, raise_errors
from mcp_protogen.runtime.core.errors import METHOD_NOT_FOUND, McpError
from mcp_protogen.servers.call.connections import JSON, Client, server_capabilities
from mcp_protogen.servers.call.input_schemas import signature
from mcp_protogen.servers.call.kinds import Kind, prompt_arguments
from mcp_protogen.servers.call.progress import fit_line

_HINTS: Final[Mapping[str, str]] = {
    "readOnlyHint": "read-only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open-world",
}
"""Annotations of tools to show if they are true (2025-11-25, schema, ToolAnnotations)."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A server, and its requested lists; `instructions` are for a model."""

    revision: str
    server: JSON
    capabilities: JSON
    instructions: str | None = None
    lists: Mapping[Kind, Sequence[JSON]] = field(default_factory=dict[Kind, Sequence[JSON]])
    card: JSON | None = None

    def as_json(self) -> dict[str, Any]:
        """Return everything as the server sent it."""
        lists = {kind.member: [*listed] for kind, listed in self.lists.items()}
        said = {} if self.instructions is None else {"instructions": self.instructions}
        return {
            "revision": self.revision,
            "server": dict(self.server),
            "capabilities": dict(self.capabilities),
            **({} if self.card is None else {"card": dict(self.card)}),
            **said,
            **lists,
        }

    def page(self, width: int) -> str:
        """Return everything for people, in lines of at most `width` columns."""
        return "".join(f"{line}\n" for line in self._lines(width))

    def _lines(self, width: int) -> Iterator[str]:
        info = self.server
        name = " ".join(str(info[key]) for key in ("name", "version") if info.get(key))
        title = f" ({info['title']})" if info.get("title") else ""
        yield fit_line(
            f"{name or 'a server without a name'}{title}, revision {self.revision}", width
        )
        if self.instructions:
            yield fit_line(f"  {_first_paragraph(self.instructions)}", width)
        if self.card is not None:
            remotes = self.card.get("remotes", ())
            urls = ", ".join(remote["url"] for remote in remotes)
            yield fit_line(f"  card: {self.card['name']} {self.card['version']}  {urls}", width)
            yield fit_line(f"      {_first_paragraph(self.card['description'])}", width)
        for kind, listed in self.lists.items():
            yield ""
            yield f"{pluralize(len(listed), kind.singular)}{':' if listed else ''}"
            for entry in listed:
                yield from _entry(kind, entry, width)


async def listing(client: Client, kinds: Sequence[Kind], most: int = sys.maxsize) -> Listing:
    """Return the lists of a server, at most `most` entries of each kind.

    Lists without a declared capability are empty. Raise the errors of the requests.
    """
    has = server_capabilities(client)
    lists: dict[Kind, Sequence[JSON]] = {}
    for kind in kinds:
        lists[kind] = await _list(client, kind, most) if kind.capability in has else ()
    info = client.server_info
    server = {} if info is None else info.to_wire()
    return Listing(client.revision, server, has, client.instructions, lists)


async def _list(client: Client, kind: Kind, most: int) -> list[JSON]:
    every = {
        Kind.TOOLS: client.iter_tools,
        Kind.PROMPTS: client.iter_prompts,
        Kind.RESOURCES: client.iter_resources,
        Kind.TEMPLATES: client.iter_resource_templates,
    }
    found: list[JSON] = []
    try:
        async for entry in every[kind]():
            found.append(entry.to_wire())
            if len(found) == most:
                break
    except McpError as error:
        # Many servers with resources do not answer for templates.
        if kind is not Kind.TEMPLATES or error.code != METHOD_NOT_FOUND:
            raise
    return found


def _entry(kind: Kind, entry: JSON, width: int) -> Iterator[str]:
    yield fit_line(f"  {_head(kind, entry)}", width)
    title = entry.get("title") or _annotations(entry).get("title")
    shown = title if title != entry.get("name") else None
    about = ": ".join(
        str(part) for part in (shown, _first_paragraph(entry.get("description"))) if part
    )
    marks = _marks(entry) if kind is Kind.TOOLS else ""
    for line in (about, marks):
        if line:
            yield fit_line(f"      {line}", width)


def _head(kind: Kind, entry: JSON) -> str:
    if kind is Kind.TOOLS:
        return signature(entry)
    if kind is Kind.PROMPTS:
        return f"{entry.get('name')}({', '.join(map(_argument, prompt_arguments(entry)))})"
    address = entry.get("uriTemplate" if kind is Kind.TEMPLATES else "uri")
    type_ = entry.get("mimeType")
    return "  ".join(str(part) for part in (address, entry.get("name"), type_) if part)


def find_entry(listed: Sequence[JSON], name: str, kind: Kind) -> JSON:
    """Return the entry with a name; raise `ProblemError` (`unknown-name`)."""
    for entry in listed:
        if entry.get("name") == name:
            return entry
    every = [str(entry.get("name")) for entry in listed]
    hint = did_you_mean(name, every, "" if every else f"the server has no {kind}")
    message = f"the server has no such {kind.singular}"
    raise ProblemError(Problem("unknown-name", message, name, hint=hint))


def check_prompt(listed: Sequence[JSON], name: str, given: Mapping[str, str]) -> None:
    """Raise `ProblemError` for an unknown prompt, or arguments that do not fit it.

    The codes are `unknown-name` and `wrong-argument`.
    """
    arguments = {
        str(argument.get("name")): argument
        for argument in prompt_arguments(find_entry(listed, name, Kind.PROMPTS))
    }
    wrong = [
        Problem(
            "wrong-argument",
            f"the prompt has no argument {key}",
            name,
            hint=did_you_mean(key, arguments, f"arguments: {', '.join(arguments) or 'none'}"),
        )
        for key in given
        if key not in arguments
    ] + [
        Problem("wrong-argument", f"the argument {key} is missing", name, hint=f"add {key}=…")
        for key, argument in arguments.items()
        if argument.get("required") and key not in given
    ]
    raise_errors(wrong)


def _argument(argument: JSON) -> str:
    return f"{argument.get('name')}{'' if argument.get('required') else ' = …'}"


def _marks(tool: JSON) -> str:
    hints = _annotations(tool)
    found = [word for name, word in _HINTS.items() if hints.get(name) is True]
    execution = tool.get("execution")
    support = execution.get("taskSupport") if is_object(execution) else None
    if support in ("optional", "required"):
        found.append(f"task {support}")
    return f"[{', '.join(found)}]" if found else ""


def _annotations(tool: JSON) -> JSON:
    said = tool.get("annotations")
    return said if is_object(said) else {}


def _first_paragraph(text: object) -> str:
    return " ".join(str(text or "").strip().partition("\n\n")[0].split())


def document(value: object) -> str:
    """Return JSON for programs, as a page."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"

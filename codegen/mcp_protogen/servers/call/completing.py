"""Completions for a command line, from the server itself, within a short time."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import time
from typing import Any, Final, NamedTuple, TypeVar

from mcp_protogen.base.problems import ProblemError
from mcp_protogen.runtime.core.errors import ProtocolError
from mcp_protogen.servers.call.connections import (
    JSON,
    Abilities,
    Client,
    connect_client,
    server_capabilities,
)
from mcp_protogen.servers.call.input_schemas import read_schema
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.call.list_cache import recall, remember
from mcp_protogen.servers.call.listing import listing
from mcp_protogen.servers.connect.named_server import NamedServer

T = TypeVar("T")

_LONGEST_WAIT: Final = 2.0
"""The longest wait for completions; seconds."""
_MOST: Final = 12
# Shell scripts evaluate completions, so a server's name must not contain characters with a meaning
# to a shell.
_SAFE: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./:@%+=,-]*")
_UNSAFE_IN_HELP: Final = re.compile(r"[^A-Za-z0-9_ .,/-]+")
_LONGEST_HELP: Final = 60


class CompletionWord(NamedTuple):
    """A possible next word, with a short description."""

    text: str
    help: str = ""


def fetch_list(server: NamedServer, kind: Kind) -> Sequence[JSON]:
    """Return a list of a known server: a new one if the server answers soon."""
    lists = recall(server)
    if lists is None:
        return ()
    known = lists.get(kind)
    if known is not None and known.is_fresh(time()):
        return known.listed

    async def fetch(client: Client) -> Mapping[Kind, Sequence[JSON]]:
        return (await listing(client, [kind])).lists

    found = _ask(server, fetch)
    if found is None:
        return () if known is None else known.listed
    remember(server, found)
    return found[kind]


def names(kind: Kind, entries: Sequence[JSON]) -> Iterator[CompletionWord]:
    """Yield the names of a list; of resources and templates, their URIs."""
    member = {Kind.RESOURCES: "uri", Kind.TEMPLATES: "uriTemplate"}.get(kind, "name")
    for entry in entries:
        yield CompletionWord(
            str(entry.get(member, "")), str(entry.get("title") or entry.get("description") or "")
        )


def tool_arguments(tool: JSON, given: Sequence[str]) -> Iterator[CompletionWord]:
    """Yield the arguments of a tool that are not given yet, with their values if they are few."""
    root = read_schema(tool.get("inputSchema") or {})
    named = {word.partition("=")[0].removesuffix(":") for word in given}
    for name, part in root.members.items():
        if "=" in name:
            continue  # Only a JSON object can contain such a name.
        if name in named and "array" not in part.types:
            continue
        help = str(next(part.find("description"), ""))
        values = part.choices
        if part.types == frozenset({"boolean"}):
            values = values or [True, False]
        if 0 < len(values) <= _MOST:
            for value in values:
                text = value if isinstance(value, str) else json.dumps(value)
                yield CompletionWord(f"{name}={text}", help)
        else:
            yield CompletionWord(f"{name}=", help)


def completed_values(
    server: NamedServer, ref: JSON, word: str, given: Sequence[str]
) -> list[CompletionWord]:
    """Return `name=value` words for an argument of a prompt or a template, from the server."""
    name, separated, value = word.partition("=")
    if not separated or recall(server) is None:
        return []
    context = {
        key: text for key, _, text in (argument.partition("=") for argument in given) if key != name
    }

    async def ask(client: Client) -> list[str]:
        if "completions" not in server_capabilities(client):
            return []
        spec = client.TABLE.requests["completion/complete"]
        params: dict[str, Any] = {"ref": ref, "argument": {"name": name, "value": value}}
        if context and "context" in spec.params.model_fields:
            params["context"] = {"arguments": context}
        result = (await client.request(spec, spec.params.from_wire(params))).to_wire()
        return [str(text) for text in result["completion"]["values"]]

    return [CompletionWord(f"{name}={text}") for text in _ask(server, ask) or ()]


def names_left(arguments: Mapping[str, str], given: Sequence[str]) -> Iterator[CompletionWord]:
    """Yield the arguments that are not given yet, with their descriptions from `arguments`."""
    named = {word.partition("=")[0] for word in given}
    yield from (
        CompletionWord(f"{name}=", help) for name, help in arguments.items() if name not in named
    )


def fitting(
    words: Iterator[CompletionWord] | Sequence[CompletionWord], incomplete: str
) -> list[CompletionWord]:
    """Return the words that begin with `incomplete` and are harmless to a shell."""
    return [
        CompletionWord(text, " ".join(_UNSAFE_IN_HELP.sub(" ", help).split())[:_LONGEST_HELP])
        for text, help in words
        if text.startswith(incomplete) and _SAFE.fullmatch(text)
    ]


def _unheard(line: str) -> None:
    """Drop the standard error of a program."""


def _ask(server: NamedServer, ask: Callable[[Client], Awaitable[T]]) -> T | None:
    """Return the answer of a server; None if it does not come in time."""

    async def run() -> T:
        async with asyncio.timeout(_LONGEST_WAIT):
            async with connect_client(quiet.opener(), Abilities(), timeout=_LONGEST_WAIT) as client:
                return await ask(client)

    quiet = replace(server, stderr=_unheard)
    try:
        return asyncio.run(run())
    except (OSError, ProblemError, ProtocolError):
        return None

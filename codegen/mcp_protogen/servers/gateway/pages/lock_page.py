"""The lock of a gateway compared with its servers, and rewritten for those that users accept."""

import asyncio
import json
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.canonical import as_document
from mcp_protogen.base.colours import Colour, paint
from mcp_protogen.base.file_set import hold_files
from mcp_protogen.base.files import writing
from mcp_protogen.base.printable import pluralize, summarize_list
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean, raise_errors
from mcp_protogen.pipeline.reports.change import Comparison, ReportedChange, Severity
from mcp_protogen.pipeline.reports.pages import PageFormat, render
from mcp_protogen.pipeline.reports.view import FindingsPage, View
from mcp_protogen.runtime.core.errors import INTERNAL_ERROR, McpError
from mcp_protogen.runtime.core.tasks import together
from mcp_protogen.servers.call.connections import (
    ELICIT,
    JSON,
    ROOTS,
    SAMPLE,
    Abilities,
    connect_client,
)
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.call.listing import listing
from mcp_protogen.servers.clients.contract import read_items
from mcp_protogen.servers.clients.differences import changes_of_items
from mcp_protogen.servers.clients.severities import READERS, rate
from mcp_protogen.servers.gateway.fronts.unknown_values import pass_unknown_values
from mcp_protogen.servers.gateway.pages.check import failure_lines, problem_document, visit
from mcp_protogen.servers.gateway.settings.filters import Filters
from mcp_protogen.servers.gateway.settings.lock_file import (
    LockedServer,
    lock_beside,
    lock_content,
    read_lock,
)
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings, ServerSettings
from mcp_protogen.servers.gateway.upstreams.definitions import as_seen, changed_members, definition
from mcp_protogen.servers.gateway.upstreams.upstream import MOST_ITEMS

FORMAT: Final = 1
ALL: Final = "all"
"""The name that stands for all servers, unless one has it."""

_ASKING: Final = {"elicitation": ELICIT, "sampling": SAMPLE, "roots": ROOTS}


@dataclass(slots=True)
class _Listed:
    """A server with its accepted items and those that it lists now, or the problem."""

    server: ServerSettings
    accepted: LockedServer | None
    problem: Problem | None = None
    found: LockedServer | None = None
    changes: list[ReportedChange] = field(default_factory=list[ReportedChange])


def lock_page(settings: GatewaySettings, accept: Collection[str], view: View) -> FindingsPage:
    """Compare the lock with all servers, and write it for those to accept.

    The page fails if an item is not accepted, or a server cannot be asked. Raise `ProblemError`.
    """
    chosen = _chosen_servers(settings, accept)
    file = lock_beside(settings.file)
    locked = read_lock(file)
    every = [_Listed(server, locked.get(server.name)) for server in settings.servers]
    asyncio.run(_list_servers(settings, every))
    accepted = {
        listed.server.name: listed.found
        for listed in every
        if listed.found is not None and listed.server.name in chosen
    }
    if accepted:
        _write(file, accepted)
    failed = any(
        listed.problem or (listed.changes and listed.server.name not in accepted)
        for listed in every
    )
    if view.format == "json":
        servers = [_document(listed, file, accepted) for listed in every]
        document = {"format": FORMAT, "file": str(file), "servers": servers}
        return FindingsPage(as_document(document), failed)
    lines = [line for listed in every for line in _lines(listed, file, view)]
    lines.append(_end(settings, every, accepted))
    return FindingsPage("".join(f"{line}\n" for line in lines), failed)


def _chosen_servers(settings: GatewaySettings, accept: Collection[str]) -> Collection[str]:
    names = [server.name for server in settings.servers]
    if ALL in accept and ALL not in names:
        return names
    raise_errors(
        Problem(
            "wrong-usage",
            f"--accept: the file has no server {name!r:.80}",
            settings.file,
            hint=hint,
        )
        for name in accept
        if name not in names
        for hint in [did_you_mean(name, names, f"write {ALL} for all servers")]
    )
    return accept


async def _list_servers(settings: GatewaySettings, every: list[_Listed]) -> None:
    async def ask(listed: _Listed) -> None:
        async def compare() -> None:
            found = await list_items(listed.server)
            place = listed.server.place
            try:
                listed.changes = [*changes_of_server(listed.accepted, found, place)]
            except ProblemError as error:
                hint = "tell the authors of the server, or leave the item out with deny"
                raise ProblemError(error.problems[0]._replace(hint=hint)) from error
            listed.found = found

        listed.problem = await visit(settings, listed.server, compare())

    await together(map(ask, every))


async def list_items(server: ServerSettings) -> LockedServer:
    """Connect to a server, and return the items that the gateway may offer.

    Raise those of `connect.failures.ERRORS`.
    """
    asking = Abilities(answers={_ASKING[name]: _refuse for name in server.questions})
    items: dict[Kind, dict[str, Any]] = {kind: {} for kind in Kind}
    async with connect_client(server.opener, asking, revision=server.revision) as client:
        runtime = client.__mcp_runtime__
        pass_unknown_values(runtime.connection.view.table, runtime.endpoint.log)
        lists = (await listing(client, [*Kind], MOST_ITEMS)).lists
    filters = Filters(server.allow, server.deny)
    for kind, entries in lists.items():
        for entry in entries:
            key = str(entry[kind.key])
            if filters.offer(kind.capability, key):
                items[kind].setdefault(key, definition(dict(entry)))
    return LockedServer(client.revision, items)


async def _refuse(params: JSON) -> JSON:
    del params
    raise McpError(INTERNAL_ERROR, "This client asks no user")


def changes_of_server(
    accepted: LockedServer | None, found: LockedServer, place: str
) -> Iterator[ReportedChange]:
    """Yield the changes of a server's items, also of members that contracts leave out.

    Raise `ProblemError` (`bad-contract`).
    """
    known = accepted or LockedServer(found.revision, {kind: {} for kind in Kind})
    for kind in Kind:
        before, after = known.items[kind], found.items[kind]
        changed: dict[str, list[str]] = {}
        for key in sorted(before.keys() & after.keys()):
            seen = as_seen(kind, before[key], known.revision, found.revision)
            if members := changed_members(after[key], before[key], seen):
                changed[key] = members
        same = (before.keys() & after.keys()) - changed.keys()
        sides = (
            read_items(kind, [items[key] for key in items if key not in same], place)
            for items in (before, after)
        )
        told = set[str]()
        for change in changes_of_items(kind, *sides):
            told.add(change.feature)
            yield change
        for key, members in changed.items():
            if told.isdisjoint((key, after[key]["name"])):
                yield rate("item-changed", key, key, "", ", ".join(members))


def _write(file: Path, accepted: Mapping[str, LockedServer]) -> None:
    with writing(file), hold_files(file) as files:
        # Another run may have written it meanwhile.
        files.write({file: lock_content({**read_lock(file), **accepted})})


def _comparison(listed: _Listed, file: Path) -> Comparison:
    sides = str(file), listed.server.name
    return Comparison(*sides, tuple(listed.changes), readers=READERS).narrow(None, Severity.NONE)


def _document(listed: _Listed, file: Path, accepted: Collection[str]) -> dict[str, Any]:
    found = listed.found
    return {
        "name": listed.server.name,
        "place": listed.server.place,
        "problem": problem_document(listed.problem),
        "accepted": found is not None and (not listed.changes or listed.server.name in accepted),
        "counts": {} if found is None else {kind: len(found.items[kind]) for kind in Kind},
        "comparison": json.loads(render(PageFormat.JSON, _comparison(listed, file))),
    }


def _lines(listed: _Listed, file: Path, view: View) -> Iterator[str]:
    name = paint(Colour.BOLD, listed.server.name, on=view.colour)
    if listed.problem is not None:
        yield from failure_lines(name, listed.server, listed.problem)
        yield f"  its part of {file} is kept"
    elif listed.found is not None and not listed.changes:
        yield f"{name}: {_counts(listed.found)}, as accepted"
    else:
        found = _comparison(listed, file)
        text = render(PageFormat.TEXT, found, colour=view.colour, width=view.width)
        yield from text.splitlines()
    yield ""


def _counts(found: LockedServer) -> str:
    return ", ".join(pluralize(len(items), kind.singular) for kind, items in found.items.items())


def _end(settings: GatewaySettings, every: Iterable[_Listed], accepted: Collection[str]) -> str:
    """Return the last line: the accepted servers, or the command that accepts all changes."""
    if accepted:
        return f"{lock_beside(settings.file)}: {summarize_list([*accepted], 20)} accepted"
    changed = [listed.server.name for listed in every if listed.changes]
    if not changed:
        return "nothing has changed"
    options = (word for name in changed for word in ("--accept", name))
    command = shlex.join(("mcp-gen", "gateway", settings.file, "--lock", *options))
    return f"nothing was written; to accept all of this: {command}"

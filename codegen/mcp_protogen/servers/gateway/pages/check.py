"""A check of a gateway: what its servers answer, and what clients of each revision lose."""

import asyncio
import re
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from logging import WARNING, Handler, LogRecord, NullHandler, getLogger
from types import ModuleType
from typing import Any, Final

from mcp_protogen import __version__
from mcp_protogen.base.canonical import as_document
from mcp_protogen.base.colours import Colour, paint
from mcp_protogen.base.printable import pluralize, summarize_list
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.reports.view import FindingsPage, View
from mcp_protogen.runtime.core.json import JSONObject
from mcp_protogen.runtime.core.losses import Loss
from mcp_protogen.runtime.core.options import Options
from mcp_protogen.runtime.core.revision import Revision
from mcp_protogen.runtime.core.tasks import together
from mcp_protogen.runtime.features.bridge.proxies import runtime_of
from mcp_protogen.runtime.messages.method_table import STATELESS_ERA
from mcp_protogen.runtime.rules.task_kinds import names_tasks, task_kind
from mcp_protogen.runtime.toolkit.remotes import USUAL_REMOTE
from mcp_protogen.servers.call.connections import JSON, Abilities, connect_client
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.call.listing import Listing, listing
from mcp_protogen.servers.connect.failures import ERRORS, NO_CONNECTION, problem_error
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.gateway.access.credentials import wants_user
from mcp_protogen.servers.gateway.fronts.proxies import proxy_for
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings.filters import Filters
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings, ServerSettings

FORMAT: Final = 1
_INDEX: Final = re.compile(r"/\d+(?=/|$)")
_MOST: Final = 10
"""The most names on one line."""
_LOGGER: Final = "mcp_protogen.gateway"
_UNTRIED: Final = "all items, which a check cannot see: only users have tokens for the server"
_INFO: Final = {"name": "mcp-gen gateway", "version": __version__}


@dataclass(slots=True)
class ServerCheck:
    """What a server answers: itself and its lists, or the problem.

    `revision` is spoken for clients of the newest revision, and `speaks` has all. `losses` are
    those of clients of other revisions, and `left_out` has items that no client sees, with reasons.
    """

    server: ServerSettings
    problem: Problem | None = None
    listed: Listing | None = None
    revision: str = ""
    speaks: list[str] = field(default_factory=list[str])
    losses: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    left_out: list[str] = field(default_factory=list[str])


def check_page(settings: GatewaySettings, view: View) -> FindingsPage:
    """Connect to all servers, and return the page of their answers; it fails if a server does."""
    # The page has what these would log.
    getLogger("mcp_protogen.runtime").addHandler(NullHandler())
    checks = asyncio.run(check_servers(settings))
    failed = [check for check in checks if check.problem is not None]
    if view.format == "json":
        page = as_document({"format": FORMAT, "servers": [_document(check) for check in checks]})
        return FindingsPage(page, bool(failed))
    lines = [line for check in checks for line in (*_lines(check, view.colour), "")]
    servers = pluralize(len(checks), "server")
    lines.append(f"{len(failed)} of {servers} failed" if failed else f"{servers} answered")
    return FindingsPage("".join(f"{line}\n" for line in lines), bool(failed))


async def check_servers(settings: GatewaySettings) -> list[ServerCheck]:
    """Connect to all servers at once, and return their answers in the order of the file."""
    package = protocol()
    checks = [ServerCheck(server) for server in settings.servers]
    await together(_check(package, settings, check) for check in checks)
    answering = [check for check in checks if check.problem is None]
    warnings = _Warnings({check.server.name: check.left_out for check in answering})
    log = getLogger(_LOGGER)
    log.addHandler(warnings)
    try:
        # Only the gateway itself knows which items it leaves out.
        servers = tuple(check.server for check in answering if not check.server.is_for_user)
        open_to_all = replace(settings, servers=servers, rules=())
        front = Gateway(open_to_all, package).fronts[-1]
        async with connect_client(package.in_memory(front), Abilities()) as client:
            await listing(client, [*Kind])
    finally:
        log.removeHandler(warnings)
    return checks


class _Warnings(Handler):
    """Keeps warnings of the gateway that begin with the name of a server."""

    def __init__(self, texts: Mapping[str, list[str]]) -> None:
        super().__init__(WARNING)
        self._texts = texts

    def emit(self, record: LogRecord) -> None:
        # A name may have a colon, too.
        name = str(record.args[0]) if isinstance(record.args, tuple) and record.args else ""
        text = record.getMessage().removeprefix(f"{name}: ")
        if name in self._texts and text != record.getMessage():
            self._texts[name].append(text)


async def _check(package: ModuleType, settings: GatewaySettings, check: ServerCheck) -> None:
    for revision in reversed(package.REVISIONS):
        problem = await visit(settings, check.server, _try(package, check, revision))
        if problem is not None:
            if check.listed is not None:
                message = f"for clients of {revision.id}: {problem.message}"
                problem = problem._replace(message=message)
            check.problem = problem
            return


async def _try(package: ModuleType, check: ServerCheck, revision: Revision) -> None:
    try:
        await _visit(package, check, revision)
    except ERRORS as error:
        if not wants_user(check.server, error):
            raise
        check.left_out = [_UNTRIED]


async def visit(
    settings: GatewaySettings, server: ServerSettings, work: Awaitable[object]
) -> Problem | None:
    """Await work with a server, for a limited time; return the problem, if it fails."""
    # A user may take long to log in.
    limit = None if server.auth == "oauth" else USUAL_REMOTE.open_timeout
    try:
        async with asyncio.timeout(limit):
            await work
        return None
    except TimeoutError as error:
        message = str(error) or f"it was not open within {limit:g} s"
        hint = "start it once by itself: programs may have to be downloaded first"
        problem = Problem(NO_CONNECTION, message, server.place, hint=hint)
    except ERRORS as error:
        problem = problem_error(error, server.place).problems[0]
    except ProblemError as error:
        problem = error.problems[0]
    # The options of other commands are members of the file.
    hint = problem.hint.replace("--", "") or "check its address, and start it by itself"
    return problem._replace(message=settings.hide(problem.message), hint=hint)


async def _visit(package: ModuleType, check: ServerCheck, revision: Revision) -> None:
    server, losses, limit = check.server, list[Loss](), USUAL_REMOTE.open_timeout
    options = Options(timeout=limit, initialize_timeout=limit, on_loss=losses.append)
    asked = revision.load().models.ClientCapabilities.model_fields.keys() & server.questions
    declared: JSONObject = {name: {} for name in asked}
    given = declared, {**_INFO}, server.opener, options
    async with proxy_for(package, server)(revision.id, *given) as proxy:
        spoken = runtime_of(proxy).client.revision
        if spoken == revision.id:
            check.speaks.insert(0, spoken)
        if check.listed is None or spoken != revision.id:
            own = package.in_memory(proxy)
            async with connect_client(own, Abilities(), revision=revision.id) as client:
                listed = await listing(client, [*Kind])
            if check.listed is None:
                check.listed, check.revision = listed, spoken
                check.left_out += _hidden_items(server, listed)
                check.left_out += [
                    _text(loss) for loss in losses if not (loss.wire or loss.harmless)
                ]
    if spoken != revision.id:
        eras = {known.id: known.era for known in package.REVISIONS}
        lost = [_text(loss) for loss in losses if loss.wire and not loss.harmless]
        if revision.era == STATELESS_ERA.name != eras[spoken]:
            lost += _limits_of_questions(server)
        if task_kind(proxy.TABLE) is None and _has_tasks(check.listed):
            lost.append("tasks: calls wait for their results")
        check.losses[revision.id] = lost


def _hidden_items(server: ServerSettings, listed: Listing) -> Iterator[str]:
    """Yield the items that the file leaves out."""
    filters = Filters(server.allow, server.deny)
    for kind, entries in listed.lists.items():
        names = [str(entry[kind.key]) for entry in entries]
        hidden = [name for name in names if not filters.offer(kind.capability, name)]
        if hidden:
            yield f"{kind} by allow and deny: {summarize_list(hidden, _MOST)}"


def _has_tasks(listed: Listing | None) -> bool:
    capabilities: JSON = {} if listed is None else listed.capabilities
    return names_tasks(capabilities) or "tasks" in capabilities


def _text(loss: Loss) -> str:
    return f"{loss.method} {_INDEX.sub('/*', loss.pointer) or '/'}: {loss.why}"


def _limits_of_questions(server: ServerSettings) -> Iterator[str]:
    """Yield the questions of an older server that may not reach a client."""
    if server.transport == "stdio" and server.questions and server.concurrency != 1:
        # On stdio, the gateway has one client, who may be asked for any call.
        yield "over HTTP, questions are refused while several calls wait: set concurrency = 1"


def _document(check: ServerCheck) -> dict[str, Any]:
    server, problem, listed = check.server, check.problem, check.listed
    info: JSON = {} if listed is None else listed.server
    return {
        "name": server.name,
        "place": server.place,
        "transport": server.transport,
        "address": server.address,
        "problem": problem_document(problem),
        "server": {name: str(info.get(name, "")) for name in ("name", "version")},
        "revision": check.revision,
        "speaks": check.speaks,
        "counts": _counts(check),
        "leftOut": check.left_out,
        "losses": check.losses,
    }


def problem_document(problem: Problem | None) -> dict[str, str] | None:
    """Return the problem with a server for programs."""
    return problem and {"code": problem.code, "message": problem.message, "hint": problem.hint}


def _counts(check: ServerCheck) -> dict[str, int]:
    if check.listed is None:
        return {}
    return {kind.value: len(listed) for kind, listed in check.listed.lists.items()}


def _lines(check: ServerCheck, colour: bool) -> Iterator[str]:
    server, listed, document = check.server, check.listed, _document(check)
    name = paint(Colour.BOLD, server.name, on=colour)
    if check.problem is not None:
        yield from failure_lines(name, server, check.problem)
        return
    about = " ".join(filter(None, document["server"].values())) or "a server without a name"
    yield f"{name}: {about}, at {server.address}"
    if listed is not None:
        yield f"  speaks {check.revision}{_others(check)}"
        counts = (pluralize(number, Kind(kind).singular) for kind, number in _counts(check).items())
        yield f"  offers {', '.join(counts)}"
    yield from (f"  left out: {text}" for text in check.left_out)
    for revision, losses in check.losses.items():
        yield f"  clients of {revision} lose {'' if losses else 'nothing'}".rstrip()
        yield from (f"    {text}" for text in losses)


def failure_lines(name: str, server: ServerSettings, problem: Problem) -> Iterator[str]:
    """Yield the lines about a server that failed."""
    yield f"{name}: {server.address} failed"
    yield from (f"  {line.strip()}" for line in problem.lines)


def _others(check: ServerCheck) -> str:
    others = [revision for revision in check.speaks if revision != check.revision]
    return f", and with their clients {', '.join(others)}" if others else ""

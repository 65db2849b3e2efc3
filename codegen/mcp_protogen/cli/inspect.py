"""`mcp-gen inspect`: meet a server as several clients would, and say what it breaks."""

import json
from dataclasses import asdict, dataclass
from logging import NullHandler, getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli import completion
from mcp_protogen.cli.console import judge
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.known import BaselineOptions, BaselineResult
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.options import BaselineFile, Ignore, LeastSeverity, Output, WriteBaseline
from mcp_protogen.cli.server_options import Auth, ServerName, ServerOptions, Timeout
from mcp_protogen.pipeline.reports.change import Reader, Severity
from mcp_protogen.pipeline.reports.pages import PageFormat

if TYPE_CHECKING:
    from mcp_protogen.servers.connect.server_target import ServerTarget
    from mcp_protogen.servers.inspect.conversation import InspectOptions
    from mcp_protogen.servers.inspect.profile import Profile
    from mcp_protogen.servers.inspect.rules import Breach
    from mcp_protogen.servers.inspect.transcript import Session

FORMAT = 1
_RECORDING = ".jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ServerOptions(ServerOptions):
    """The options for a server, of which an inspection sees what anybody may see by default."""

    auth: Auth = "none"


@with_groups
def inspect_server(
    target: ServerName,
    *,
    server: _ServerOptions,
    call: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOOL[=JSON]",
            help="Call this tool, with these arguments; repeat it for others. Without it, and"
            " without --call-read-only, no tool is called.",
        ),
    ] = None,
    call_read_only: Annotated[
        bool,
        typer.Option(
            "--call-read-only",
            help="Call tools that need no arguments and say of themselves that they only read.",
        ),
    ] = False,
    revision: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REVISION",
            help="Try this revision only; repeat it for others.",
            autocompletion=completion.revision,
        ),
    ] = None,
    timeout: Timeout = 15.0,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write what passed to this file; given as TARGET, it is judged."
        ),
    ] = None,
    baseline: BaselineFile = None,
    write_baseline: WriteBaseline = False,
    ignore: Ignore = None,
    reader: Annotated[
        Reader | None, typer.Option("--for", help="Show the severities for this reader.")
    ] = None,
    only: Annotated[
        LeastSeverity | None, typer.Option(help="Leave out less severe findings.")
    ] = None,
    format: Annotated[PageFormat, typer.Option(help="Form of the report.")] = PageFormat.TEXT,
    output: Output = None,
) -> None:
    """Inspect a server: what it speaks, what it offers, and what of the specification it breaks.

    Each revision is tried over each transport. No tool is called unless that is asked for. Exit
    code 1 means that there are findings; with --baseline, that there are new ones.
    """
    from mcp_protogen.servers.inspect.conversation import InspectOptions
    from mcp_protogen.servers.inspect.rules import SEVERITIES

    known = BaselineOptions("finding", baseline, write_baseline, tuple(ignore or ()))

    def work() -> bool:
        known.check(SEVERITIES)
        options = InspectOptions(timeout=timeout, calls=_calls(call or ()), reading=call_read_only)
        name, sessions = _sessions(server.target(target), options, _revisions(revision), record)
        shown = _Report(name, sessions, reader, Severity(only) if only else None)
        return shown.show(known, Destination(format, output))

    judge(work, "inspect", format)


def _revisions(given: list[str] | None) -> tuple[str, ...]:
    """Return the revisions to try, none for all; raise `ProblemError` (`unknown-revision`)."""
    from mcp_protogen.servers.inspect.revision_facts import inspected

    for one in given or ():
        if one not in inspected():
            hint = f"known: {', '.join(inspected())}"
            raise ProblemError(
                Problem("unknown-revision", f"no revision is {one!r:.40}", hint=hint)
            )
    return tuple(given or ())


def _calls(given: "list[str] | tuple[()]") -> dict[str, dict[str, Any]]:
    """Return tools with arguments; raise `ProblemError` (`wrong-usage`) for what is no object."""
    found: dict[str, dict[str, Any]] = {}
    for one in given:
        name, _, text = one.partition("=")
        try:
            arguments = json.loads(text or "{}")
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            message = f"the arguments of {name} are no JSON object"
            hint = f'write --call \'{name}={{"name": "value"}}\''
            raise ProblemError(Problem("wrong-usage", message, hint=hint))
        found[name] = arguments
    return found


def _sessions(
    target: "ServerTarget",
    options: "InspectOptions",
    revisions: tuple[str, ...],
    record: Path | None,
) -> "tuple[str, tuple[Session, ...]]":
    """Return the name of the server and the sessions with it, held now or read from a recording."""
    from mcp_protogen.servers.connect.traffic import bad_recording
    from mcp_protogen.servers.inspect import recording
    from mcp_protogen.servers.inspect.revision_facts import is_inspected
    from mcp_protogen.servers.inspect.transcript import UNKNOWN_REVISION

    if target.config is None and target.name.endswith(_RECORDING):
        about, sessions = recording.read(Path(target.name))
        for one in sessions:
            if not is_inspected(one.revision) and one.revision != UNKNOWN_REVISION:
                raise bad_recording(Path(target.name), 0, f"no revision is {one.revision!r:.40}")
        return str(about.get("target", target.name)), sessions
    from mcp_protogen.cli.console import progress
    from mcp_protogen.servers.inspect.inspecting import inspect
    from mcp_protogen.servers.inspect.server import server_of

    # The findings have all that the transports would log.
    getLogger("mcp_protogen.runtime").addHandler(NullHandler())
    with progress("inspect", shown=True):
        sessions = inspect(server_of(target), options, revisions, target.shown)
    if record is not None:
        from mcp_protogen.base.file_set import write_files

        lines = "".join(recording.written(sessions, {"target": target.shown}))
        content = {record: lines.encode("utf-8", "backslashreplace")}
        # It may have tokens.
        write_files(content, hint="name a file in a folder that exists", mode=0o600)
    return target.shown, sessions


class _Report:
    """What is shown of an inspection."""

    def __init__(
        self,
        target: str,
        sessions: "tuple[Session, ...]",
        reader: Reader | None,
        least: Severity | None,
    ) -> None:
        from mcp_protogen.servers.inspect.profile import profile_of
        from mcp_protogen.servers.inspect.rules import judged

        self._target = target
        self._profile: Profile = profile_of(sessions)
        self._breaches: tuple[Breach, ...] = judged(sessions)
        self._reader = reader
        self._least = least

    def show(self, known: BaselineOptions, place: Destination) -> bool:
        """Show the report, and return whether there are findings."""
        from mcp_protogen.servers.inspect.comparison import comparison_of
        from mcp_protogen.servers.inspect.text import verdict

        result = known.compared(comparison_of(self._target, self._profile, self._breaches))
        closing = verdict(self._profile, self._breaches)
        if result.keep(closing):
            return False
        place.deliver(self._page(result, place, closing))
        new = result.new.narrowed(self._reader, self._least)
        return bool(new.changes)

    def _page(self, result: BaselineResult, place: Destination, closing: str) -> str:
        new = result.new.narrowed(self._reader, self._least)
        keys = {(one.code, one.item) for one in new.changes}
        shown = [one for one in self._breaches if (one.rule.code, one.example.item) in keys]
        if place.form == PageFormat.JSON:
            return self._document(result, json.loads(place.page(new, self._reader)), shown)
        if place.form == PageFormat.TEXT:
            from mcp_protogen.servers.inspect.text import render

            colour, width = place.coloured, place.width
            page = render(self._target, self._profile, shown, colour=colour, width=width)
            return result.closed(page, PageFormat.TEXT)
        return result.closed(place.page(new, self._reader), PageFormat(place.form), closing)

    def _document(self, result: BaselineResult, comparison: Any, shown: "list[Breach]") -> str:
        document = {
            "format": FORMAT,
            "target": self._target,
            "server": asdict(self._profile),
            "findings": [_finding(one) for one in shown],
            **result.as_json(),
            "comparison": comparison,
        }
        return json.dumps(document, indent=2) + "\n"


def _finding(breach: "Breach") -> dict[str, Any]:
    rule = breach.rule
    return {
        "code": rule.code,
        "level": breach.level,
        "rule": rule.text,
        "page": breach.page,
        "rows": list(rule.rows),
        **{name: getattr(breach.example, name) for name in ("item", "message", "pointer")},
        "sent": breach.example.sent,
        "got": breach.example.got,
        "sessions": list(breach.sessions),
        "times": breach.number,
    }

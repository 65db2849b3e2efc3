"""The page of an inspection: the user's request in, the findings out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from logging import NullHandler, getLogger
from pathlib import Path
from typing import Any

from mcp_protogen.base.file_set import write_files
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.reports.findings import FindingOptions, Findings
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.view import FindingsPage, View
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_protogen.servers.connect.traffic import bad_recording
from mcp_protogen.servers.inspect import recording
from mcp_protogen.servers.inspect.comparison import comparison_of
from mcp_protogen.servers.inspect.conversation import InspectOptions
from mcp_protogen.servers.inspect.inspecting import inspect
from mcp_protogen.servers.inspect.profile import Profile, profile_of
from mcp_protogen.servers.inspect.revision_facts import all_revisions, is_inspected
from mcp_protogen.servers.inspect.rules import SEVERITIES, Violation, judge
from mcp_protogen.servers.inspect.server import server_of
from mcp_protogen.servers.inspect.text import render, verdict
from mcp_protogen.servers.inspect.transcript import UNKNOWN_REVISION, Transcript

FORMAT = 1
_RECORDING = ".jsonl"


@dataclass(frozen=True, slots=True)
class InspectRequest:
    """The server or its recording, the revisions to try (none for all), and the options.

    `record` is a file for the recording.
    """

    server: NamedServer
    revisions: tuple[str, ...]
    options: InspectOptions
    record: Path | None = None


def inspection_page(request: InspectRequest, findings: FindingOptions, view: View) -> FindingsPage:
    """Inspect a server or a recording, and return the page of the findings.

    Raise `ProblemError`: `unknown-revision`, `bad-recording`, as `inspect` does, and for wrong
    options or a wrong baseline.
    """
    findings.check(SEVERITIES)
    _refuse_unknown(request.revisions)
    name, transcripts = _load_transcripts(request)
    profile, violations = profile_of(transcripts), judge(transcripts)
    result = findings.sort(comparison_of(name, profile, violations))
    closing = verdict(profile, violations)
    saved = result.save(closing)
    if saved is not None:
        return saved
    shown = _select_shown(violations, result)
    if view.format == PageFormat.TEXT:
        page = render(name, profile, shown, colour=view.colour, width=view.width)
        return FindingsPage(result.close(page, PageFormat.TEXT), bool(shown))
    return result.page(view, closing, head=_head(name, profile, shown))


def _refuse_unknown(revisions: Sequence[str]) -> None:
    for revision in revisions:
        if not is_inspected(revision):
            hint = f"known: {', '.join(all_revisions())}"
            message = f"{revision!r:.40} is not a revision"
            raise ProblemError(Problem("unknown-revision", message, hint=hint))


def _load_transcripts(request: InspectRequest) -> tuple[str, tuple[Transcript, ...]]:
    """Return the name of the server and its transcripts, made now or read from a recording."""
    server = request.server
    if server.config is None and server.name.endswith(_RECORDING):
        about, transcripts = recording.read(Path(server.name))
        for transcript in transcripts:
            if not is_inspected(transcript.revision) and transcript.revision != UNKNOWN_REVISION:
                raise bad_recording(
                    Path(server.name), 0, f"{transcript.revision!r:.40} is not a revision"
                )
        return str(about.get("target", server.name)), transcripts
    # The findings contain everything that the transports would log.
    getLogger("mcp_protogen.runtime").addHandler(NullHandler())
    transcripts = inspect(server_of(server), request.options, request.revisions, server.safe_text)
    if request.record is not None:
        lines = "".join(recording.format_lines(transcripts, {"target": server.safe_text}))
        content = {request.record: lines.encode("utf-8", "backslashreplace")}
        # It may contain tokens.
        write_files(content, hint="name a file in a folder that exists", mode=0o600)
    return server.safe_text, transcripts


def _select_shown(violations: Sequence[Violation], result: Findings) -> list[Violation]:
    keys = {(change.code, change.item) for change in result.shown_findings.changes}
    return [
        violation
        for violation in violations
        if (violation.rule.code, violation.example.item) in keys
    ]


def _head(name: str, profile: Profile, shown: Sequence[Violation]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "target": name,
        "server": asdict(profile),
        "findings": [_finding(violation) for violation in shown],
    }


def _finding(violation: Violation) -> dict[str, Any]:
    rule = violation.rule
    return {
        "code": rule.code,
        "level": violation.level,
        "rule": rule.text,
        "page": violation.page,
        "rows": list(rule.rows),
        **{name: getattr(violation.example, name) for name in ("item", "message", "pointer")},
        "sent": violation.example.sent,
        "got": violation.example.got,
        "sessions": list(violation.transcripts),
        "times": violation.number,
    }

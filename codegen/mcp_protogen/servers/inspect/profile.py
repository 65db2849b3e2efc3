"""The profile of a server, in a few values: the head of a report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.printable import pluralize, summarize_list
from mcp_protogen.pipeline.reports.change import Overview
from mcp_protogen.runtime.messages.envelope import SERVER_INFO
from mcp_protogen.servers.inspect.messages import protocol_of
from mcp_protogen.servers.inspect.probes import LISTS, listing
from mcp_protogen.servers.inspect.revision_facts import is_inspected
from mcp_protogen.servers.inspect.rule_faults import members
from mcp_protogen.servers.inspect.transcript import (
    CLOSED,
    TIMEOUT,
    UNKNOWN_REVISION,
    UNREACHABLE,
    Transcript,
    reason_of,
)

_NOUNS = {
    "tools/list": "tool",
    "prompts/list": "prompt",
    "resources/list": "resource",
    "resources/templates/list": "resource template",
}

_NAMES = 12
_SAID = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionSupport:
    """The outcome for a revision over a transport."""

    revision: str
    transport: str
    spoken: bool
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The name, revisions, capabilities and offers of a server, from the newest revision it speaks.

    `seconds` is the time from the start of a process, or of a request, to the first answer.
    """

    name: str
    version: str
    revision: str
    spoken: tuple[RevisionSupport, ...]
    unknown: str
    seconds: float | None
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...]
    instructions: str
    offers: tuple[tuple[str, tuple[str, ...]], ...]


def profile_of(transcripts: Sequence[Transcript]) -> Profile:
    """Return the profile that transcripts show."""
    best = max(transcripts, key=lambda one: (one.is_spoken, one.revision))
    info = server_info(best)
    unknown = next(
        (transcript for transcript in transcripts if transcript.revision == UNKNOWN_REVISION), None
    )
    instructions = best.opening.get("instructions")
    return Profile(
        name=_text(info.get("name")),
        version=_text(info.get("version")),
        revision=best.revision if best.is_spoken else "",
        spoken=tuple(
            _revision_support(transcript)
            for transcript in transcripts
            if is_inspected(transcript.revision)
        ),
        unknown=unknown.negotiated if unknown is not None else "",
        seconds=_first_answer(best),
        capabilities=tuple(_capability_names(best)),
        extensions=tuple(members(best.capabilities, "extensions")),
        instructions=_text(instructions),
        offers=tuple(_item_names(best)),
    )


def overview_of(profile: Profile) -> Overview:
    """Return the overview of a profile, with the revisions over each transport."""
    says = " ".join(profile.instructions.split())
    seconds = "" if profile.seconds is None else f"after {profile.seconds:.2f} s"
    rows = (
        ("server", f"{profile.name} {profile.version}".strip()),
        ("answers", seconds),
        ("declares", ", ".join(profile.capabilities) or "nothing"),
        ("extensions", ", ".join(profile.extensions)),
        ("says", says if len(says) <= _SAID else f"{says[: _SAID - 1]}…"),
        *(
            (
                "offers",
                f"{pluralize(len(names), noun)}: {summarize_list(names, _NAMES)}" if names else "",
            )
            for noun, names in profile.offers
        ),
    )
    return Overview(
        rows=tuple((label, text) for label, text in rows if text),
        table=_table(profile.spoken),
        remarks=tuple(_remarks(profile)),
    )


def _table(spoken: Sequence[RevisionSupport]) -> tuple[tuple[str, ...], ...]:
    """Return rows: revisions, and whether each is spoken over each transport."""
    transports = tuple(dict.fromkeys(support.transport for support in spoken))
    found = {
        (support.revision, support.transport): "yes" if support.spoken else "no"
        for support in spoken
    }
    revisions = dict.fromkeys(support.revision for support in spoken)
    rows = (
        (revision, *(found.get((revision, name), "") for name in transports))
        for revision in revisions
    )
    return (("revision", *transports), *rows)


def _remarks(profile: Profile) -> Iterator[str]:
    for support in profile.spoken:
        if not support.spoken:
            outcome = " ".join(support.outcome.split())
            yield f"{support.revision} over {support.transport}: {outcome}"
    if profile.unknown and profile.unknown != UNKNOWN_REVISION:
        yield f"Asked for a revision that does not exist, it offers {profile.unknown}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def server_info(transcript: Transcript) -> dict[str, Any]:
    """Return the info of a server; empty without any."""
    opening = transcript.opening
    return members(opening, "serverInfo") or members(opening, "_meta", SERVER_INFO)


def _first_answer(transcript: Transcript) -> float | None:
    times = {message.sender: message.at for message in reversed(transcript.beginning.messages)}
    if "client" not in times or "server" not in times:
        return None
    return round(times["server"] - times["client"], 3)


def _capability_names(transcript: Transcript) -> Iterator[str]:
    deprecated = _find_deprecated(transcript.revision) if transcript.is_spoken else set[str]()
    for name, value in sorted(transcript.capabilities.items()):
        if name == "extensions":
            continue
        flags = sorted(key for key, on in value.items() if on) if is_object(value) else []
        more = [*flags, *(["deprecated"] if name in deprecated else [])]
        yield f"{name} ({', '.join(more)})" if more else name


def _find_deprecated(revision: str) -> set[str]:
    found: set[str] = set()
    protocol = protocol_of(revision)
    for method, about in protocol.methods.items():
        needed = protocol.needs(method) if about.get("deprecated") else ()
        found |= {name.removeprefix("server.") for name in needed if name.startswith("server.")}
    return found


def _item_names(transcript: Transcript) -> Iterator[tuple[str, tuple[str, ...]]]:
    for method in LISTS:
        items = listing(transcript, method)
        names = (item.get("name") or item.get("uri") for item in items)
        yield _NOUNS[method], tuple(_text(name) for name in names)


def _revision_support(transcript: Transcript) -> RevisionSupport:
    return RevisionSupport(
        revision=transcript.revision,
        transport=transcript.transport,
        spoken=transcript.is_spoken,
        outcome="spoken" if transcript.is_spoken else _outcome(transcript),
    )


def _outcome(transcript: Transcript) -> str:
    first = transcript.beginning
    if transcript.negotiated:
        return f"answered with {transcript.negotiated}"
    offered = transcript.opening.get("supportedVersions")
    if is_array(offered):
        return f"offers {', '.join(map(str, offered))} instead"
    if first.error:
        status = f"HTTP {first.status}, " if first.status and first.status != 200 else ""
        return f"refused: {status}{first.error.get('code')} {_text(first.error.get('message'))}"
    if first.outcome in (CLOSED, UNREACHABLE):
        return first.detail or "the connection ended"
    if first.flawed_messages:
        return f"not readable: {reason_of(first.flawed_messages[0].flaws[0])}"
    if first.outcome == TIMEOUT:
        return "no answer"
    return first.detail or f"HTTP {first.status}" if first.status else "no revision in the answer"

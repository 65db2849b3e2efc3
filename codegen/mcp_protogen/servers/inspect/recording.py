"""Recordings of inspections: JSON Lines that can be judged again without the server.

A head comes first, then for each transcript (`session`) and each exchange a line, and below an
exchange its messages, as in any recording.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.runtime.transports.recordings import FORMAT
from mcp_protogen.servers.connect.traffic import (
    PassedMessage,
    bad_recording,
    line,
    message_of,
    read_lines,
)
from mcp_protogen.servers.inspect.transcript import Exchange, Transcript

_CONFIG: Final = ConfigDict(extra="forbid", frozen=True)


class _TranscriptHead(BaseModel):
    model_config = _CONFIG
    revision: str
    transport: str
    errors: tuple[str, ...] = ()


class _ExchangeHead(BaseModel):
    model_config = _CONFIG
    probe: str
    method: str = ""
    headers: dict[str, str] = {}
    status: int = 0
    answered: dict[str, str] = {}
    events: tuple[str, ...] = ()
    primed: bool | None = None
    replaced: bool = False
    outcome: str = ""
    detail: str = ""


def format_lines(transcripts: Iterable[Transcript], about: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a recording of an inspection."""
    yield _line({"traffic": FORMAT, "inspection": dict(about)})
    for transcript in transcripts:
        yield _head("session", _TranscriptHead, transcript)
        for exchange in transcript.exchanges:
            yield _head("exchange", _ExchangeHead, exchange)
            yield from map(line, exchange.messages)


def _head(kind: str, model: type[BaseModel], about: Transcript | Exchange) -> str:
    head = model(**{name: getattr(about, name) for name in model.model_fields})
    return _line({kind: head.model_dump(mode="json", exclude_defaults=True)})


def _line(value: object) -> str:
    return on_one_line(value) + "\n"


def read(path: Path) -> tuple[dict[str, Any], tuple[Transcript, ...]]:
    """Return the head of a recording, and its transcripts.

    Raise `ProblemError` (`bad-recording`) with the line at fault.
    """
    lines = read_lines(path)
    about = next(lines)[1].get("inspection")
    if not is_object(about):
        raise bad_recording(path, 1, "it is not a recording of mcp-gen inspect")
    found: list[tuple[_TranscriptHead, list[tuple[_ExchangeHead, list[PassedMessage]]]]] = []
    for number, entry in lines:
        try:
            if "session" in entry:
                found.append((_TranscriptHead.model_validate(entry["session"]), []))
            elif "exchange" in entry and found:
                found[-1][1].append((_ExchangeHead.model_validate(entry["exchange"]), []))
            elif found and found[-1][1]:
                found[-1][1][-1][1].append(message_of(path, number, entry))
            else:
                raise bad_recording(path, number, 'no line "session" or "exchange" comes before it')
        except ValidationError as error:
            message = "a member is missing or invalid"
            raise bad_recording(path, number, message) from error
    if not found or not all(exchanges for _, exchanges in found):
        raise bad_recording(path, 0, 'it has no line "session", or one without an exchange')
    return about, tuple(_build_transcript(head, exchanges) for head, exchanges in found)


def _build_transcript(
    head: _TranscriptHead, exchanges: list[tuple[_ExchangeHead, list[PassedMessage]]]
) -> Transcript:
    recorded = [
        Exchange(**dict(exchange), messages=tuple(messages)) for exchange, messages in exchanges
    ]
    return Transcript(**dict(head), exchanges=recorded)

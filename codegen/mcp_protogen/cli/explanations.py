"""The codes that commands print, each with a summary and a longer text.

Problems and causes of drift have sections in `explanations.md`. The texts of changes and findings
come from the tables of severities.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from textwrap import fill, shorten

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.reports.severities import SeverityRow

_TEXTS = Path(__file__).with_name("explanations.md")
_SECTION = re.compile(
    r"^## (?P<code>[a-z-]+): (?P<summary>[^\n]+)\n\n(?P<text>.*?)\n*(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)
_WIDTH = 100
# Summaries of codes of test vectors that are not keywords of JSON Schema.
_VECTORS: Mapping[str, str] = {
    "additional": "a member is not declared, and the object is closed",
    "any": "any JSON value is allowed there",
    "full": "every declared member is given",
    "minimal": "only required members are given",
    "null": "null is given where it is not allowed",
    "present": "one optional member is given",
    "undeclared": "a member is not declared, and the object is open",
    "union": "the value is one of the alternatives, or none of them",
}
# The readers of a command's findings, by the column of its table.
_READERS: Mapping[str, Mapping[str, str]] = {
    "diff": {
        "sender": "senders",
        "receiver": "receivers",
        "sdk": "libraries",
        "gateway": "gateways",
    },
    "audit": {
        "sdk": "the SDK",
        "sender": "users of the SDK that send such values",
        "receiver": "their receivers",
        "gateway": "gateways",
    },
    "inspect": {
        "sender": "the author of the server",
        "receiver": "clients",
        "sdk": "its library",
        "gateway": "gateways",
    },
    "audit, vectors": {
        "receiver": "its users",
        "sdk": "its maintainers",
        "gateway": "gateways that pass on its messages",
    },
    "client": {"caller": "callers", "model": "models", "host": "hosts"},
}
_COMMANDS = {"client": "diff --server and mcp-gen client"}
"""All commands with the findings of one of them."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """The explanation of a code of one command: on one line, and in full."""

    code: str
    summary: str
    text: str


def explanations() -> dict[str, str]:
    """Return every code with its text; a code of two commands has both texts."""
    texts: dict[str, list[str]] = {}
    for entry in _entries():
        texts.setdefault(entry.code, []).append(entry.text)
    return {code: "\n\n".join(found) for code, found in texts.items()}


def overview() -> str:
    """Return every code with its summary, one on each line, sorted."""
    entries = sorted(_entries(), key=lambda entry: entry.code)
    width = max(len(entry.code) for entry in entries)
    room = _WIDTH - width - 2
    return "\n".join(
        f"{entry.code:<{width}}  {shorten(entry.summary, room, placeholder=' …')}"
        for entry in entries
    )


def explanation(code: str) -> str:
    """Return the text for one code; raise `ProblemError` (`unknown-code`) with a suggestion."""
    texts = explanations()
    if code in texts:
        return texts[code]
    hint = did_you_mean(code, texts, "mcp-gen explain lists all codes")
    raise ProblemError(Problem("unknown-code", f"no command prints the code {code!r}", hint=hint))


@cache
def _entries() -> tuple[_Entry, ...]:
    from mcp_protogen.instep.audit.severities import SEVERITIES
    from mcp_protogen.instep.vectors.outcome_changes import SEVERITIES as OF_VECTORS
    from mcp_protogen.pipeline.reports.severities import severities
    from mcp_protogen.servers.clients.severities import severities as of_tools

    audits = ("audit", SEVERITIES), ("audit, vectors", OF_VECTORS)
    tables = ("diff", severities()), *audits, ("client", of_tools())
    findings = (_finding(name, row) for name, table in tables for row in table.values())
    return (*_problems(), *findings, *_of_inspections(), *_vector_codes())


def _of_inspections() -> Iterator[_Entry]:
    from mcp_protogen.servers.inspect.rules import SEVERITIES, rules

    for rule in rules().values():
        row = SEVERITIES[rule.code]
        last = max(rule.pages)
        reason = f"{rule.level} ({rule.span}): {rule.text} {row.why}"
        entry = _finding("inspect", replace(row, why=reason))
        page = f"Page: {rule.pages[last]} ({last})."
        yield replace(entry, summary=f"inspect: {rule.text}", text=f"{entry.text}\n{page}")


def _problems() -> Iterator[_Entry]:
    for match in _SECTION.finditer(_TEXTS.read_text(encoding="utf-8")):
        yield _Entry(match["code"], match["summary"], match["text"])


def _finding(command: str, row: SeverityRow) -> _Entry:
    summary = f"{row.category}: {row.message or row.why}"
    sentence = f"{summary[:1].upper()}{summary[1:]}. " if row.message else ""
    levels = (f"{row.columns[end]} for {reader}" for end, reader in _READERS[command].items())
    commands = _COMMANDS.get(command, command)
    text = f"{fill(f'Found by mcp-gen {commands}. {sentence}{row.why}', _WIDTH)}\n\n"
    return _Entry(
        row.code, f"{command}: {summary}", text + fill(f"Severity: {', '.join(levels)}.", _WIDTH)
    )


def _vector_codes() -> Iterator[_Entry]:
    file = schema_folder() / "formats" / "vectors.schema.json"
    schema = parse_json(file.read_bytes(), file.name)
    for code in schema["$defs"]["code"]["enum"]:
        summary = _VECTORS.get(code, f"the value keeps or breaks {code} of its schema")
        text = f"A code of test vectors (mcp-gen vectors): {summary}. Its reason says more."
        yield _Entry(code, f"vectors: {summary}", fill(text, _WIDTH))

"""The codes that commands print, each with one line and a longer text.

Problems and causes of drift have their own texts. The texts of changes and findings come from the
tables that set their severities.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import fill, shorten

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.base.suggest import did_you_mean

_TEXTS = Path(__file__).with_name("explanations.md")
_SECTION = re.compile(
    r"^## (?P<code>[a-z-]+): (?P<meaning>[^\n]+)\n\n(?P<text>.*?)\n*(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)
_WIDTH = 100
# The meanings of those codes of test vectors that are not keywords of JSON Schema.
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


@dataclass(frozen=True, slots=True)
class _Entry:
    """The meaning of a code in one command."""

    code: str
    meaning: str
    text: str


def explanations() -> dict[str, str]:
    """Return every code with its text; the text of a code of two commands has both meanings."""
    texts: dict[str, list[str]] = {}
    for entry in _entries():
        texts.setdefault(entry.code, []).append(entry.text)
    return {code: "\n\n".join(found) for code, found in texts.items()}


def overview() -> str:
    """Return every code with its meaning, one on each line, sorted."""
    entries = sorted(_entries(), key=lambda entry: entry.code)
    width = max(len(entry.code) for entry in entries)
    room = _WIDTH - width - 2
    return "\n".join(
        f"{entry.code:<{width}}  {shorten(entry.meaning, room, placeholder=' …')}"
        for entry in entries
    )


def explain(code: str) -> str:
    """Return the text for one code; raise `ProblemError` (`unknown-code`) with a suggestion."""
    texts = explanations()
    if code in texts:
        return texts[code]
    hint = did_you_mean(code, texts, "mcp-gen explain lists all codes")
    raise ProblemError(Problem("unknown-code", f"no command prints the code {code!r}", hint=hint))


@cache
def _entries() -> tuple[_Entry, ...]:
    return (*_of_problems(), *_of_diff(), *_of_audit(), *_of_vectors())


def _of_problems() -> Iterator[_Entry]:
    for found in _SECTION.finditer(_TEXTS.read_text(encoding="utf-8")):
        yield _Entry(found["code"], found["meaning"], found["text"])


def _of_diff() -> Iterator[_Entry]:
    from mcp_protogen.findings.severities import severities

    for code, row in severities().items():
        levels = {
            "who sends it": row.sender,
            "who receives it": row.receiver,
            "libraries": row.sdk,
            "gateways": row.gateway,
        }
        yield _finding("diff", code, f"{row.category}: {row.message}", row.why, levels)


def _of_audit() -> Iterator[_Entry]:
    from mcp_protogen.audit.severities import ROWS

    for code, row in ROWS.items():
        levels = {
            "the SDK": row.sdk,
            "who builds on it and sends such values": row.sends,
            "who reads them": row.reads,
            "gateways": row.gateway,
        }
        yield _finding("audit", code, f"{row.category}: {row.why}", row.why, levels)


def _of_vectors() -> Iterator[_Entry]:
    from mcp_protogen.vectors.severities import WEIGHTS

    for code, weight in WEIGHTS.items():
        levels = {
            "who builds on it": weight.builds,
            "who maintains it": weight.maintains,
            "who passes on what it writes": weight.passes_on,
        }
        yield _finding("audit, vectors", code, weight.why, weight.why, levels)
    file = schema_folder() / "formats" / "vectors.schema.json"
    form = parse_json(file.read_bytes(), file.name)
    for word in form["$defs"]["code"]["enum"]:
        meaning = _VECTORS.get(word, f"the value keeps or breaks {word} of its schema")
        text = f"A code of test vectors (mcp-gen vectors): {meaning}. Each says why in its reason."
        yield _Entry(word, f"vectors: {meaning}", fill(text, _WIDTH))


def _finding(commands: str, code: str, meaning: str, why: str, levels: Mapping[str, str]) -> _Entry:
    said = "" if why in meaning else f"{meaning[:1].upper()}{meaning[1:]}. "
    told = ", ".join(f"{level} for {reader}" for reader, level in levels.items())
    text = f"{fill(f'Found by mcp-gen {commands}. {said}{why}', _WIDTH)}\n\n"
    return _Entry(code, f"{commands}: {meaning}", text + fill(f"Severity: {told}.", _WIDTH))

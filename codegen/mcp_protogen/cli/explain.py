"""What is behind a problem code or a cause of drift: a line, and a longer text."""

import re
from collections.abc import Iterator
from pathlib import Path

from mcp_protogen.problems import Problem, ProblemError
from mcp_protogen.suggest import did_you_mean

_TEXTS = Path(__file__).with_name("explanations.md")
_SECTION = re.compile(
    r"^## (?P<code>[a-z-]+): (?P<meaning>[^\n]+)\n\n(?P<text>.*?)\n*(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)


def explanations() -> dict[str, str]:
    """Every code with its text."""
    return {found["code"]: found["text"] for found in _sections()}


def overview() -> str:
    """Every code with its meaning, a line for each, in the alphabet."""
    meanings = {found["code"]: found["meaning"] for found in _sections()}
    width = max(map(len, meanings))
    return "\n".join(f"{code:<{width}}  {meanings[code]}" for code in sorted(meanings))


def explain(code: str) -> str:
    """The text for one code; raises `ProblemError` (`unknown-code`) with a suggestion."""
    texts = explanations()
    if code in texts:
        return texts[code]
    hint = did_you_mean(code, texts)
    raise ProblemError(Problem("unknown-code", f"there is no problem code {code!r}", hint=hint))


def _sections() -> Iterator[re.Match[str]]:
    return _SECTION.finditer(_TEXTS.read_text(encoding="utf-8"))

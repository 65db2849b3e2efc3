"""The long text behind a problem code or a cause of drift."""

import re
from pathlib import Path

from mcp_protogen.problems import Problem, ProblemError
from mcp_protogen.suggest import did_you_mean

_TEXTS = Path(__file__).with_name("explanations.md")
_SECTION = re.compile(r"^## ([a-z-]+)\n\n(.*?)\n*(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def explanations() -> dict[str, str]:
    """Every code with its text."""
    return dict(_SECTION.findall(_TEXTS.read_text(encoding="utf-8")))


def explain(code: str) -> str:
    """The text for one code; raises `ProblemError` (`unknown-code`) with a suggestion."""
    texts = explanations()
    if code in texts:
        return texts[code]
    hint = did_you_mean(code, texts)
    raise ProblemError(Problem("unknown-code", f"there is no problem code {code!r}", hint=hint))

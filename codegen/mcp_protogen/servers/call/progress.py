"""Lines about the progress of a call, and log entries of servers, as plain text."""

from collections.abc import Mapping
from typing import Any, Final
from unicodedata import east_asian_width

from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.printable import safe_line
from mcp_protogen.runtime.core.options import Progress

_BAR: Final = 24


def progress_line(name: str, progress: Progress, width: int) -> str:
    """Return a line of at most `width` columns: a bar if the total is known, else a number."""
    done, total = progress.done, progress.total
    if total is not None and total > 0:
        part = min(max(done / total, 0.0), 1.0)
        filled = round(part * _BAR)
        shown = f"[{'#' * filled}{'-' * (_BAR - filled)}] {part:4.0%}"
    else:
        shown = f"{done:g}"
    return fit_line("  ".join(filter(None, [name, shown, progress.message])), width)


def fit_line(text: str, width: int) -> str:
    """Return text on one line of at most `width` columns of a terminal."""
    text = safe_line(text)
    if sum(map(_columns, text)) <= width:
        return text
    left, kept = width - 1, ""
    for char in text:
        left -= _columns(char)
        if left < 0:
            break
        kept += char
    return kept.rstrip() + "…"


def log_line(params: Mapping[str, Any]) -> str:
    """Return a log entry as a line: its level, who writes it, and what."""
    data = params.get("data")
    text = data if isinstance(data, str) else on_one_line(data)
    logger = params.get("logger")
    return f"[{params.get('level')}] {f'{logger}: ' if logger else ''}{text}"


def _columns(char: str) -> int:
    return 2 if east_asian_width(char) in "WF" else 1

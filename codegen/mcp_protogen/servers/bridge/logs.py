"""The log of a bridge, on standard error: lines of text, or one JSON object in each line."""

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, Literal, TextIO, TypeAlias

from mcp_protogen.base.printable import page, safe_line
from mcp_protogen.runtime.core.losses import Loss

LogFormat: TypeAlias = Literal["text", "json"]

_LOSSES: Final = "mcp_protogen.bridge.losses"
_log: Final = logging.getLogger(_LOSSES)

DETAILS: Final = "details"
"""The attribute of log entries for members of JSON."""


def begin_log(level: str, format: LogFormat, hide: Callable[[str], str] = str) -> None:
    """Write log entries to standard error, from a level on, as `hide` returns them."""
    handler = _HidingHandler(hide)
    handler.setFormatter(_Json() if format == "json" else _Text())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # These log each URL, and URLs may contain secrets.
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)


@lru_cache(maxsize=1000)
def log_loss(loss: Loss) -> None:
    """Log losses between client and server, each kind once for all sessions."""
    said = {name: value for name, value in loss._asdict().items() if name != "harmless"}
    between = f" between {loss.own} and {loss.wire}" if loss.wire else ""
    parts = (loss.method, loss.pointer or "/", loss.what, between, loss.why)
    _log.warning("%s: %s was %s%s: %s", *parts, extra={DETAILS: {"loss": said}})


class _HidingHandler(logging.StreamHandler[TextIO]):
    def __init__(self, hide: Callable[[str], str]) -> None:
        super().__init__(sys.stderr)
        self._hide = hide

    def format(self, record: logging.LogRecord) -> str:
        return self._hide(super().format(record))


class _Text(logging.Formatter):
    """Lines for people; text of a client or a server cannot begin a new line."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return (page if record.exc_info else safe_line)(super().format(record))


class _Json(logging.Formatter):
    """One object in each line, with `time`, `level`, `logger`, `message` and its details."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC)
        entry: dict[str, Any] = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, DETAILS, {}),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)

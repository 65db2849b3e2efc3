"""The options that commands for live servers have beside those that name the server."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen.cli import completion


class LogLevel(StrEnum):
    """The least severe log entry that is shown (RFC 5424, section 6.2.1)."""

    DEBUG = "debug"
    INFO = "info"
    NOTICE = "notice"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"
    ALERT = "alert"
    EMERGENCY = "emergency"


RevisionName = Annotated[
    str | None,
    typer.Option(
        "--revision",
        metavar="REVISION",
        help="Speak this revision, not the newest that both sides know.",
        autocompletion=completion.revision,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Show the result as the server sent it, as JSON.")
]
LogLevelOption = Annotated[
    LogLevel | None,
    typer.Option(
        "--log-level",
        help="Ask for log entries from this level on; at debug, what a program writes to its"
        " standard error is shown, too.",
        show_default="warning, without asking",
    ),
]
Answers = Annotated[
    list[str] | None,
    typer.Option(
        "--answer", metavar="NAME=VALUE", help="Answer for a field of a form; repeat it for others."
    ),
]
Save = Annotated[
    Path | None,
    typer.Option("--save", metavar="DIR", help="Write images, audio and other bytes there."),
]

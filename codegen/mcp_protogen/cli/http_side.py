"""The options of programs that serve clients over HTTP."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_protogen.base.option_constraints import conflict

if TYPE_CHECKING:
    from mcp_protogen.servers.bridge.http_side import HttpSide


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSideOptions:
    """The options for clients over HTTP."""

    http: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Serve clients over Streamable HTTP; without it, one client over stdio.",
        ),
    ] = None
    path: Annotated[
        str, typer.Option(metavar="PATH", help="With --http: path of the endpoint.")
    ] = "/mcp"
    sse: Annotated[
        bool, typer.Option("--sse", help="With --http: serve clients of HTTP+SSE, too.")
    ] = False
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="With --http: a host name of this server; repeat it."),
    ] = None
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="With --http: an allowed origin of web pages."),
    ] = None
    max_sessions: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="With --http: most sessions at a time."),
    ] = 100
    session_lifetime: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=1, help="With --http: time after which an unused session ends."
        ),
    ] = 1800.0

    def side(self) -> "HttpSide | None":
        """Return the HTTP side, or None without --http; raise `ProblemError`."""
        from mcp_protogen.servers.bridge.http_side import HttpSide, address

        if self.http is None:
            require_default(self, "http")
            return None
        return HttpSide(
            address=address(self.http),
            path=self.path,
            allowed_hosts=tuple(self.allow_host or ()),
            allowed_origins=tuple(self.allow_origin or ()),
            sse=self.sse,
            max_sessions=self.max_sessions,
            session_lifetime=self.session_lifetime,
        )


def require_default(options: Any, needed: str) -> None:
    """Raise `ProblemError` for an option that has no effect without another one."""
    for field in fields(options):
        # Without values, a list is empty or None, depending on the version of Typer.
        if getattr(options, field.name) not in (field.default, []):
            raise conflict(f"--{field.name.replace('_', '-')} needs --{needed}")

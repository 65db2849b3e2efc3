"""The HTTP side of a program between clients and servers."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from types import ModuleType
from typing import Any, Final, NamedTuple

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.servers.connect.failures import NO_CONNECTION

_LOOPBACK: Final = "127.0.0.1"
_LAST_PORT: Final = 65_535


class Address(NamedTuple):
    """The address on which the HTTP server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return the address as URLs write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Return whether only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSide:
    """The HTTP side for clients. Times are in seconds."""

    address: Address
    path: str
    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]
    sse: bool
    max_sessions: int
    session_lifetime: float

    @property
    def url(self) -> str:
        return f"http://{self.address}{self.path}"


def read_address(said: str) -> Address:
    """Return the address from PORT or HOST:PORT; raise `ValueError`."""
    found = re.fullmatch(r"(?:(\[[0-9a-fA-F:.]+\]|[^:\[\]\s/]+):)?([0-9]{1,5})", said)
    if found is None or int(found[2]) > _LAST_PORT:
        raise ValueError("write a port, or a host and a port, such as 127.0.0.1:8000 or [::1]:8000")
    return Address((found[1] or _LOOPBACK).strip("[]"), int(found[2]))


def address(said: str) -> Address:
    """Return the address from --http; raise `ProblemError` (`wrong-usage`)."""
    try:
        return read_address(said)
    except ValueError as error:
        problem = Problem("wrong-usage", f"--http cannot be {said!r:.40}", hint=str(error))
        raise ProblemError(problem) from error


def serve_http(package: ModuleType, make_app: Callable[[Any], Any], side: HttpSide) -> None:
    """Serve the application that `make_app` returns for `HttpOptions`, until a signal ends it.

    Raise `ProblemError`: `missing-package`, `wrong-usage`, or if it cannot listen.
    """
    try:
        http = package.HttpOptions(
            path=side.path,
            allowed_hosts=side.allowed_hosts,
            allowed_origins=side.allowed_origins,
            old_sse=side.sse,
            max_sessions=side.max_sessions,
            session_lifetime=side.session_lifetime,
        )
        package.run_http(make_app(http), host=side.address.host, port=side.address.port)
    except ImportError as error:
        hint = "install it, or install mcp-gen with its extra http"
        raise ProblemError(Problem("missing-package", str(error), hint=hint)) from error
    except ValueError as error:
        text = str(error).replace("HttpOptions.allowed_hosts", "--allow-host")
        text = text.replace("allowed_hosts", "--allow-host")
        raise ProblemError(Problem("wrong-usage", text)) from error
    except SystemExit as error:
        # uvicorn has logged why it cannot listen.
        if error.code:
            raise cannot_listen(side.address) from error


def cannot_listen(address: Address, why: str = "") -> ProblemError:
    return ProblemError(Problem(NO_CONNECTION, f"cannot listen on {address}{why}"))

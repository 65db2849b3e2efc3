"""Servers as users name them: a command line, a file of Python, a URL, or a name in a file."""

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.client.servers import program_words
from mcp_protogen.runtime.transports.base import Opener, StandardError
from mcp_protogen.runtime.transports.subprocess import SAFE_VARIABLES
from mcp_protogen.servers.connect.direct_client import new_http_client
from mcp_protogen.servers.connect.echoes import refuse_echoes
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.connect.server_cards import (
    CARD,
    card_client,
    policy_for,
    published_documents,
)

_SCRIPT: Final = re.compile(r"\.([cm]?js|py|ts)$")
_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)  # no drive of Windows
_ADDRESS: Final = re.compile(r"(\w+://)?(?:[^/?#]*@)?([^?#]*).*", re.DOTALL)
_LAUNCHERS: Final = ("npx", "bunx", "pnpx", "uvx", "pipx")
"""Programs that run the package named after their options."""


def safe_url(url: str) -> str:
    """Return a URL without its user, query and fragment, which may be secrets."""
    return _ADDRESS.sub(r"\1\2", url)


def safe_program(words: Sequence[str]) -> str:
    """Return the name of a program, script or package, without further arguments."""
    program, *others = words or [""]
    if program in _LAUNCHERS:
        program = next((word for word in others if not word.startswith("-")), program)
    script = next(filter(_SCRIPT.search, others[:1]), program)
    return script if script.startswith("@") else Path(script).name or script


def _empty_mapping() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedServer:
    """A server as the user names it, and the options to reach it.

    `name` is a URL or a command line, or with `config` a name in a file such as the `mcp.json` of a
    host. `transport` names one that suits it, by default the usual one. `headers` and `auth` are
    for URLs; `env` and `cwd` for programs, which inherit all other variables if `inherit` says so,
    otherwise only safe ones. `stderr` is where the standard error of a program goes, by default to
    ours.
    """

    name: str
    config: Path | None = None
    transport: str | None = None
    headers: Mapping[str, str] = field(default_factory=_empty_mapping, repr=False)
    auth: Any = field(default=None, repr=False)
    env: Mapping[str, str] = field(default_factory=_empty_mapping, repr=False)
    cwd: Path | None = None
    inherit: bool = False
    stderr: StandardError = None

    @property
    def safe_text(self) -> str:
        """The server without secrets, which URLs and command lines often contain."""
        if self.config is not None:
            return f"{self.config}: {self.name}"
        is_address = _SCHEME.match(self.name)
        return safe_url(self.name) if is_address else safe_program(self.name.split())

    @property
    def is_url(self) -> bool:
        """Return whether the name is a URL for HTTP."""
        return self.config is None and _URL.match(self.name) is not None

    @property
    def is_card(self) -> bool:
        """Return whether the name is the URL of a server card."""
        return self.is_url and published_documents()[CARD].is_at(self.name)

    @property
    def address(self) -> str:
        """The kind of address by which transports are sorted: `url`, or `program`."""
        return "url" if self.is_url else "program"

    def opener(self) -> Opener:
        """Return an opener of connections to the server.

        Raise `ProblemError`: `no-server` for a name without a server, `missing-package` if HTTP
        needs a package that is not installed.
        """
        with self.convert_errors():
            return refuse_echoes(self._opener())

    @contextmanager
    def convert_errors(self) -> Generator[None, None, None]:
        """Convert errors raised inside to `ProblemError`, as `opener` does."""
        if self.config is None and not self.is_url and (scheme := _SCHEME.match(self.name)):
            message = f"no transport reaches addresses that begin with {scheme[0]}"
            hint = "give a URL that begins with http:// or https://, or a command line"
            raise ProblemError(Problem("no-server", message, self.safe_text, hint=hint))
        try:
            yield
        except ImportError as error:
            hint = "install it, or install mcp-gen with its extra http"
            problem = Problem("missing-package", str(error), self.safe_text, hint=hint)
            raise ProblemError(problem) from error
        except (OSError, TypeError, ValueError) as error:
            hint = "give a URL, a command line as one word, a file of Python, or a name in --config"
            raise ProblemError(
                Problem("no-server", str(error), self.safe_text, hint=hint)
            ) from error

    def _opener(self) -> Opener:
        package = protocol()
        opener: Opener
        if self.config is not None:
            opener = package.connect_config.opener(
                self.config, self.name, auth=self.auth, stderr=self.stderr, http=new_http_client
            )
            return opener
        options: dict[str, Any] = {
            "cwd": self.cwd,
            "env": self.env,
            "inherit": self.inherit or SAFE_VARIABLES,
            "stderr": self.stderr,
        }
        if self.is_url:
            options = {"http": new_http_client, "headers": self.headers, "auth": self.auth}
            if self.is_card:
                policy = policy_for(self.name)
                opener = card_client().open_card(self.name, policy=policy, **options)
                return opener
        given = self.name if self.is_url else program_words(self.name)
        opener = package.connect.make_opener(self.address, self.transport, given, **options)
        return opener

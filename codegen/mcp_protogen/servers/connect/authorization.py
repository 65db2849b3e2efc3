"""The authorization of requests to servers over HTTP, from the option `--auth`.

Secrets come from environment variables, never from the command line, which other users of the
machine can see.
"""

import os
import re
import sys
import webbrowser
from asyncio import to_thread
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.runtime.features.auth.client.grants import ClientCredentials
from mcp_protogen.runtime.features.auth.client.oauth import OAuth
from mcp_protogen.runtime.features.auth.client.storage import (
    FileStorage,
    MemoryStorage,
    TokenStorage,
)
from mcp_protogen.runtime.features.auth.client.user_agent import LoopbackReceiver, Redirection
from mcp_protogen.runtime.features.auth.client.values import ClientInformation, ClientMetadata
from mcp_protogen.runtime.features.auth.errors import AuthorizationError
from mcp_protogen.runtime.features.auth.fetch_policy import is_loopback
from mcp_protogen.runtime.features.auth.urls import split_url
from mcp_protogen.runtime.http.client.authorization import Authorizer, Exchange, HttpAuthorization

AUTO: Final = "auto"
VARIABLE: Final = "MCP_GEN_CONFIG"
"""The environment variable with the folder for tokens; if it is empty, none are stored."""

_NAME: Final = "mcp-gen"
_SECRETS: Final = ("MCP_CLIENT_ID", "MCP_CLIENT_SECRET")
_TOKENS: Final = "tokens.json"
_NO_LOGIN: Final = (
    "the server wants you to log in, but there is neither a browser nor a terminal here; log in"
    " once from a terminal, or give --auth client-credentials or --auth bearer:VARIABLE"
)


class AuthChoice(NamedTuple):
    """A value of `--auth`, and the names of variables that may follow it."""

    variables: Sequence[str]
    least: int
    meaning: str


AUTH_CHOICES: Final[Mapping[str, AuthChoice]] = {
    AUTO: AuthChoice((), 0, "nothing is sent until a server asks; then as oauth"),
    "oauth": AuthChoice(("ID", "SECRET"), 0, "the user logs in with a browser"),
    "client-credentials": AuthChoice(("ID", "SECRET"), 0, "the program shows its id and secret"),
    "bearer": AuthChoice(("TOKEN",), 1, "an existing token"),
    "none": AuthChoice((), 0, "requests are not authorized"),
}


class LoggingIn:
    """A login with a browser of this machine; a `UserAgent`.

    `show` also gets a line with the page: the user may prefer another browser.
    """

    def __init__(self, show: Callable[[str], object]) -> None:
        self._show = show
        self._receiver = LoopbackReceiver(open=self._open)

    def redirection(self, registered: Sequence[str]) -> AbstractAsyncContextManager[Redirection]:
        """Open a port of this machine; raise `AuthorizationError` if no user can log in."""
        if browser() is None and not is_terminal():
            # This check comes before the client registers in vain.
            raise AuthorizationError(_NO_LOGIN)
        return self._receiver.redirection(registered)

    async def _open(self, page: str) -> bool:
        self._show(f"to log in, open {page}")
        found = browser()
        opened = found is not None and await to_thread(found.open, page)
        return opened or is_terminal()


def is_terminal() -> bool:
    """Return whether a user can read the output."""
    return bool(sys.stderr and sys.stderr.isatty())


def browser() -> webbrowser.BaseBrowser | None:
    """Return the user's browser; None without one, or with only a text browser.

    A program of a host has no terminal for a text browser. The environment variable `BROWSER` takes
    precedence.
    """
    with suppress(webbrowser.Error):
        found = webbrowser.get()
        of_terminals = type(found) is webbrowser.GenericBrowser
        return None if of_terminals and not os.environ.get("BROWSER") else found
    return None


@dataclass(frozen=True, slots=True)
class FixedFields:
    """An authorization by fixed header fields; an `Authorizer`."""

    fields: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def headers(self, verb: str, url: str) -> Mapping[str, str]:
        return self.fields

    async def prepare(self) -> None:
        """Do nothing: the fields exist already."""

    def refuses(self, exchange: Exchange) -> bool:
        return False

    async def again(self, exchanges: Sequence[Exchange]) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Bearer:
    """An authorization with an existing token (RFC 6750, section 2.1)."""

    token: str = field(repr=False)

    def authorizer(self, url: str) -> Authorizer:
        """Return the authorizer; raise `ValueError` if others could read the token."""
        require_https(url)
        return FixedFields({"authorization": f"Bearer {self.token}"})


def require_https(url: str) -> None:
    """Raise `ValueError` if others could read the tokens that are sent to a URL."""
    parts = split_url(url)
    host = "" if parts is None else parts.hostname or ""
    if parts is None or (parts.scheme.lower() != "https" and not is_loopback(host)):
        raise ValueError("tokens are sent over HTTPS only, or to this machine")


@dataclass(frozen=True, slots=True)
class WhereAllowed:
    """An authorization of only those requests that may carry tokens."""

    authorization: HttpAuthorization

    def authorizer(self, url: str) -> Authorizer:
        try:
            return self.authorization.authorizer(url)
        except ValueError:
            # The user has not asked for tokens: without them, the server decides.
            return FixedFields()


def authorization(
    said: str, show: Callable[[str], object], variables: Mapping[str, str] = os.environ
) -> HttpAuthorization | None:
    """Return the authorizer for a value of `--auth`; None for no authorization.

    `show` gets lines for the user. Raise `ProblemError` (`wrong-usage`) for an invalid value, or
    for a variable that is not set.
    """
    kind, _, rest = said.partition(":")
    choice = AUTH_CHOICES.get(kind)
    names = [name for name in rest.split(",") if name]
    if choice is None or not choice.least <= len(names) <= len(choice.variables):
        hint = did_you_mean(kind, AUTH_CHOICES) if choice is None else _usage(kind, choice)
        # The wrong value may be a secret, and is not repeated.
        raise ProblemError(Problem("wrong-usage", f"--auth cannot be {kind!r:.40}", hint=hint))
    match kind:
        case "none":
            return None
        case "bearer":
            return Bearer(_value(names[0], variables))
        case "client-credentials":
            program = _client(names or _SECRETS, variables)
            return OAuth(grant=ClientCredentials(), client=program, trailing_slash=True)
        case _:
            client = _client(names, variables) if names else None
            metadata = ClientMetadata(client_name=_NAME)
            storage, agent = _storage(variables), LoggingIn(show)
            oauth = OAuth(
                client=client,
                client_metadata=metadata,
                storage=storage,
                user_agent=agent,
                trailing_slash=True,
            )
            return WhereAllowed(oauth) if kind == AUTO else oauth


def _usage(kind: str, choice: AuthChoice) -> str:
    names = ",".join(choice.variables)
    return f"write {kind}:{names}, with names of variables" if names else f"write {kind} alone"


def _client(names: Sequence[str], variables: Mapping[str, str]) -> ClientInformation:
    id, *secret = (_value(name, variables) for name in names)
    return ClientInformation(client_id=id, client_secret=secret[0] if secret else None)


def _value(name: str, variables: Mapping[str, str]) -> str:
    value = variables.get(name, "")
    if not value or not value.isprintable() or value != value.strip():
        problem = "has spaces or control characters" if value else "is not set"
        named = f"the variable {name}" if re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) else "a variable"
        message = f"{named} of --auth {problem}"
        hint = "--auth takes names of environment variables, never secrets"
        raise ProblemError(Problem("wrong-usage", message, hint=hint))
    return value


def _storage(variables: Mapping[str, str]) -> TokenStorage:
    folder = user_config(variables)
    return MemoryStorage() if folder is None else FileStorage(folder / _TOKENS)


def user_config(variables: Mapping[str, str] = os.environ) -> Path | None:
    """Return the user's folder for lasting data; None if there is no such folder."""
    if (own := variables.get(VARIABLE)) is not None:
        return Path(own) if own else None
    with suppress(RuntimeError):  # the home folder is unknown
        if given := variables.get("XDG_CONFIG_HOME"):
            # A relative path is invalid: https://specifications.freedesktop.org/basedir-spec
            return Path(given) / _NAME if os.path.isabs(given) else None
        if sys.platform == "win32":
            roaming = variables.get("APPDATA")
            return Path(roaming) / _NAME if roaming else None
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support" / _NAME
        return Path.home() / ".config" / _NAME
    return None

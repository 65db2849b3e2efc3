"""How requests to servers over HTTP are authorized: what `--auth` says, made into what does it.

Secrets come from variables of the environment, which other users of a machine cannot see, and never
from the command line, which they can.
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
"""The environment variable with the folder for tokens; with nothing, so that none are kept."""

_NAME: Final = "mcp-gen"
_SECRETS: Final = ("MCP_CLIENT_ID", "MCP_CLIENT_SECRET")
_TOKENS: Final = "tokens.json"
_NO_LOGIN: Final = (
    "the server wants you to log in, but there is neither a browser nor a terminal here; log in"
    " once from a terminal, or give --auth client-credentials or --auth bearer:VARIABLE"
)


class AuthForm(NamedTuple):
    """What `--auth` may say, and which names of variables may follow it."""

    variables: Sequence[str]
    least: int
    meaning: str


FORMS: Final[Mapping[str, AuthForm]] = {
    AUTO: AuthForm((), 0, "nothing is sent until a server asks for it; then as oauth"),
    "oauth": AuthForm(("ID", "SECRET"), 0, "the user logs in with a browser"),
    "client-credentials": AuthForm(("ID", "SECRET"), 0, "the program shows its id and secret"),
    "bearer": AuthForm(("TOKEN",), 1, "a token that is there already"),
    "none": AuthForm((), 0, "requests are not authorized"),
}


class LoggingIn:
    """Has the user log in with a browser of this machine; a `UserAgent`.

    `show` gets a line with the page, too: the browser may be another one than the user wants.
    """

    def __init__(self, show: Callable[[str], object]) -> None:
        self._show = show
        self._receiver = LoopbackReceiver(open=self._open)

    def redirection(self, registered: Sequence[str]) -> AbstractAsyncContextManager[Redirection]:
        """Open a port of this machine; raise `AuthorizationError` if nobody could log in."""
        if browser() is None and not is_terminal():
            # Before anything is registered for nothing.
            raise AuthorizationError(_NO_LOGIN)
        return self._receiver.redirection(registered)

    async def _open(self, page: str) -> bool:
        self._show(f"to log in, open {page}")
        found = browser()
        opened = found is not None and await to_thread(found.open, page)
        return opened or is_terminal()


def is_terminal() -> bool:
    """Return whether a user can read what is shown."""
    return bool(sys.stderr and sys.stderr.isatty())


def browser() -> webbrowser.BaseBrowser | None:
    """Return the user's browser; None where there is none, or only one of terminals.

    A program of a host has no terminal that such a browser could use. What `BROWSER` in the
    environment names is what the user wants.
    """
    with suppress(webbrowser.Error):
        found = webbrowser.get()
        of_terminals = type(found) is webbrowser.GenericBrowser
        return None if of_terminals and not os.environ.get("BROWSER") else found
    return None


@dataclass(frozen=True, slots=True)
class FixedFields:
    """Authorizes requests by header fields that do not change; an `Authorizer`."""

    fields: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def headers(self, verb: str, url: str) -> Mapping[str, str]:
        return self.fields

    async def prepare(self) -> None:
        """There is nothing to prepare: the fields are there."""

    def refuses(self, exchange: Exchange) -> bool:
        return False

    async def again(self, exchanges: Sequence[Exchange]) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Bearer:
    """Authorizes requests with a token that is there already (RFC 6750, section 2.1)."""

    token: str = field(repr=False)

    def authorizer(self, url: str) -> Authorizer:
        """Return what sends the token; raise `ValueError` where others could read it."""
        parts = split_url(url)
        host = "" if parts is None else parts.hostname or ""
        if parts is None or (parts.scheme.lower() != "https" and not is_loopback(host)):
            raise ValueError("tokens are sent over HTTPS only, or to this machine")
        return FixedFields({"authorization": f"Bearer {self.token}"})


@dataclass(frozen=True, slots=True)
class WhereAllowed:
    """Authorizes requests where tokens may be sent, and no others."""

    authorization: HttpAuthorization

    def authorizer(self, url: str) -> Authorizer:
        try:
            return self.authorization.authorizer(url)
        except ValueError:
            # Nobody has asked for tokens: without them, the server says what it thinks of that.
            return FixedFields()


def authorization(
    said: str, show: Callable[[str], object], variables: Mapping[str, str] = os.environ
) -> HttpAuthorization | None:
    """Return what authorizes requests as `--auth` says; None for what does not.

    `show` gets lines for the user. Raise `ProblemError` (`wrong-usage`) for what is none of the
    forms, or names a variable that is not set.
    """
    kind, _, rest = said.partition(":")
    form = FORMS.get(kind)
    names = [name for name in rest.split(",") if name]
    if form is None or not form.least <= len(names) <= len(form.variables):
        hint = did_you_mean(kind, FORMS) if form is None else _usage(kind, form)
        # What was meant for a variable may be a secret, and is not repeated.
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


def _usage(kind: str, form: AuthForm) -> str:
    names = ",".join(form.variables)
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
    """Return the folder of the user for what has to be kept; None where there is no such folder."""
    if (own := variables.get(VARIABLE)) is not None:
        return Path(own) if own else None
    with suppress(RuntimeError):  # nobody's home is known
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

"""Reading the settings of a gateway: a host's `mcp.json`, or a TOML file.

In the former, our members are in `x-gateway` of a server, or of the file; in the latter, beside
those of hosts, or in the table `gateway`.
"""

import json
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache, partial
from hashlib import sha256
from logging import getLogger
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean, raise_errors
from mcp_protogen.runtime.client.config import (
    ConfigEntry,
    ConfigSource,
    LocatedEntry,
    read_commented,
)
from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.core.models.validation_errors import problem_of
from mcp_protogen.runtime.features.auth.client.oauth import OAuth
from mcp_protogen.runtime.http.client.authorization import HttpAuthorization
from mcp_protogen.runtime.transports.base import Opener, Transport
from mcp_protogen.servers.bridge.http_side import HttpSide
from mcp_protogen.servers.connect.authorization import (
    AUTH_CHOICES,
    AUTO,
    authorization,
    require_https,
)
from mcp_protogen.servers.connect.direct_client import new_http_client
from mcp_protogen.servers.connect.echoes import refuse_echoes
from mcp_protogen.servers.connect.named_server import safe_program, safe_url
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.gateway.access.authentication import check_callers
from mcp_protogen.servers.gateway.access.credentials import WithoutUser
from mcp_protogen.servers.gateway.settings.lock_file import Locked, lock_beside, read_lock
from mcp_protogen.servers.gateway.settings.names import find_ambiguous, server_problem, usual_prefix
from mcp_protogen.servers.gateway.settings.settings import (
    AuthSettings,
    ExchangeSettings,
    GatewaySettings,
    LoginSettings,
    RuleSettings,
    ServerSettings,
)
from mcp_protogen.servers.gateway.settings.sharing import engine_problems

T = TypeVar("T", ServerSettings, GatewaySettings, AuthSettings, ExchangeSettings, RuleSettings)

OWN: Final = "x-gateway"
HINT: Final = "mcp-gen explain bad-gateway-config lists the members"

_TABLE: Final = "gateway"
_MADE: Final = frozenset(
    {
        *("file", "servers", "place", "address", "opener", "opener_digest", "transport"),
        *("telemetry", "secrets", "locked", "token_exchange", "open_as", "client", "login"),
    }
)
"""Settings that are not members of a file."""
_TABLES: Final = ("auth", "rules")
"""Members of the gateway that are read by themselves."""
_OF_HOST: Final = {field.alias or name for name, field in ConfigEntry.model_fields.items()}
_OF_HTTP: Final = ("url", "httpUrl", "serverUrl", "headers")
OAUTH: Final = "oauth"
EXCHANGE: Final = "exchange"
LOGIN: Final = "login"
_KINDS: Final = [kind for kind in AUTH_CHOICES if kind != AUTO]
_UNSET: Final = "set it before the gateway starts, or write a default: ${NAME:-default}"
_WRONG_NAME: Final = "the name of the server does not fit: set {}"
_NO_AUTH: Final = "rules are about tokens of clients, and clients need none"
_NO_KEYS: Final = "without it, only the process that asked a question could take the answer"
_KEYS: Final = 'write state_keys = ["${STATE_KEY}"], the same for all processes'
_CONDITIONS: Final = "add principals, scopes or claims"
_NO_INPUT: Final = "a gateway cannot ask for it: give the input a default, or write ${NAME}"

_SHORT: Final = 6
"""Values of fewer characters would be found in many words."""

_FILE: Final = re.compile(r"\$\{file:([^}]+)\}")
_DEFAULT: Final = re.compile(r":-[^}]*(?=\})")
_SLASH: Final = re.compile(r"\$\{(?:/|pathSeparator)\}")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")

_log: Final = getLogger("mcp_protogen.gateway")


def read_settings(
    file: Path,
    side: HttpSide | None = None,
    on_file: Callable[[Path], object] = lambda _: None,
) -> GatewaySettings:
    """Return the settings in a file; raise `ProblemError` with all its problems.

    Those for clients over HTTP may exclude logins of one user. `on_file` is called before each
    file is read.
    """
    settings = _ConfigFile(file, on_file).settings()
    check_users(settings, side)
    return settings


def check_users(settings: GatewaySettings, side: HttpSide | None) -> None:
    """Raise `ProblemError` if the users that a gateway may have must not be its users."""
    if side is None:
        return
    check_callers(settings, side)
    if settings.auth:
        # A login is that of one user, and others would act in their name.
        message = "its login is that of one user, and the gateway may have several"
        hint = "use bearer:VARIABLE or client-credentials, or serve stdio"
        raise_errors(
            server_problem(server, message, hint)
            for server in settings.servers
            if server.auth == OAUTH
        )


class _ConfigFile(ConfigSource):
    """A file with all its problems."""

    def __init__(self, file: Path, on_file: Callable[[Path], object]) -> None:
        self._on_file = on_file
        self._problems: list[Problem] = []
        self._secrets: dict[str, str] = {}
        self._is_toml = file.suffix.lower() == ".toml"
        on_file(file)
        try:
            text = file.read_text("utf-8-sig")
            content: Any = tomllib.loads(text) if self._is_toml else read_commented(text)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            hint = "give the mcp.json of a host, or a TOML file"
            raise ProblemError(_problem(str(why), (str(file), ""), hint)) from error
        self._content: dict[str, Any] = content if is_object(content) else {}
        super().__init__(self._content, protocol(), file=file)

    def settings(self) -> GatewaySettings:
        table = _TABLE if self._is_toml else OWN
        at = f"{self.name}#/{table}"
        if self._is_toml:
            self._select_known(self._content, f"{self.name}#", (_TABLE, "servers"))
        own = self._table(self._content, table, self.name + "#") or {}
        place = "#".join(self._place(at))
        base: dict[str, Any] = {"file": self.name, "servers": (), "place": place}
        gateway = self._read(GatewaySettings, own, at, base)
        if "auth" in own and (auth := self._table(own, "auth", at)) is not None:
            gateway = replace(gateway, auth=self._read(AuthSettings, auth, f"{at}/auth", {}))
        if gateway.admin and not (gateway.admin.is_local or gateway.admin_hosts):
            message = f"other machines could read it at {gateway.admin}, without a token"
            hint = "use 127.0.0.1, or name the hosts in their requests: admin_hosts"
            self._add(f"{at}/admin", message, hint)
        if gateway.share and not own.get("state_keys"):
            self._add(f"{at}/state_keys", _NO_KEYS, _KEYS)
        self._problems += engine_problems(gateway, protocol())
        if gateway.logins is not None:
            gateway = replace(gateway, logins=self._logins_file(gateway.logins, f"{at}/logins"))
        if gateway.instructions == "merge":
            self._add(f"{at}/instructions", '"merge" is not supported yet', "write the text")
        gateway = replace(gateway, rules=tuple(self._rules(own, f"{at}/rules")))
        servers = [*self._servers(gateway)]
        if any(server.lock != "off" for server in servers):
            servers = [*self._with_locked(servers)]
        self._problems += find_ambiguous(servers)
        if not servers and not self._problems:
            self._add(self.name, "no server in it is enabled", "add a server, or enable one")
        if self._problems:
            raise ProblemError(*self._problems)
        # A value may be within another one.
        longest_first = dict(sorted(self._secrets.items(), key=lambda pair: -len(pair[0])))
        return replace(gateway, servers=tuple(servers), secrets=longest_first)

    def _logins_file(self, said: str, at: str) -> str:
        """Return the file for logins, beside that of the gateway if it is relative."""
        file = self._folder / Path(said).expanduser()
        if file.is_dir() or not file.parent.is_dir():
            self._add(at, "it must be a file in a folder that exists", "create the folder")
        return str(file)

    def _rules(self, own: Mapping[str, Any], at: str) -> Iterator[RuleSettings]:
        listed = own.get("rules", [])
        if not is_array(listed) or not all(map(is_object, listed)):
            self._add(at, "it must be an array of objects", HINT)
            return
        if listed and "auth" not in own:
            self._add(at, _NO_AUTH, "add auth to the gateway, or leave out the rules")
        names = self._content.get(self.member, {})
        for number, rule in enumerate(listed):
            place, before = f"{at}/{number}", len(self._problems)
            settings = self._read(RuleSettings, rule, place, {})
            if len(self._problems) > before:
                continue
            for name in settings.servers:
                if name not in names:
                    hint = did_you_mean(name, names, "name a server of the file")
                    self._add(f"{place}/servers", f"there is no server {name!r:.60}", hint)
            if not settings.servers:
                self._add(place, "it names no servers", 'write servers = ["NAME"]')
            if not (settings.principals or settings.scopes or settings.claims):
                self._add(place, "it has no condition", _CONDITIONS)
            yield settings

    def _with_locked(self, servers: Iterable[ServerSettings]) -> Iterator[ServerSettings]:
        locked: Locked = {}
        file = lock_beside(self.name)
        self._on_file(file)
        try:
            locked = read_lock(file)
        except ProblemError as error:
            self._problems += error.problems
        return (replace(server, locked=locked.get(server.name)) for server in servers)

    def _servers(self, gateway: GatewaySettings) -> Iterator[ServerSettings]:
        entries = dict(self.servers())
        for name, value in self._content.get(self.member, {}).items():
            at = f"{self.name}#{jsonpointer.join(self.member, name)}"
            if not is_object(value):
                continue  # `servers` has refused it.
            own = value if self._is_toml else self._table(value, OWN, at) or {}
            if not self._is_toml:
                at = f"{at}/{OWN}"
            if name not in self.disabled:
                base = {"name": name, "separator": gateway.separator, "auth": "none"}
                base["lock"] = gateway.lock
                base["prefix"] = usual_prefix(name)
                server = self._server(own, at, base)
                if (kind := server.auth.partition(":")[0]) in (EXCHANGE, LOGIN):
                    self._check_users(gateway, server, kind, at)
                if name in entries:
                    yield self._with_address(server, entries[name], own.get("auth"), at)
            elif own.get("required") is True:
                self._add(f"{at}/required", f"the server {name} is disabled", "enable it, too")

    def _server(self, own: dict[str, Any], at: str, base: dict[str, Any]) -> ServerSettings:
        place = "#".join(self._place(at.removesuffix(f"/{OWN}")))
        base |= {"place": place, "address": "", "opener": _open_nothing}
        if is_object(auth := own.get("auth")):
            own = {name: value for name, value in own.items() if name != "auth"}
            base |= {"auth": EXCHANGE, "token_exchange": self._exchange(auth, f"{at}/auth")}
        server = self._read(ServerSettings, own, at, base)
        revisions = [revision.id for revision in protocol().REVISIONS]
        if server.revision not in (None, *revisions):
            hint = did_you_mean(str(server.revision), revisions)
            self._add(f"{at}/revision", f"{server.revision!r:.40} is not a revision", hint)
        if server.max_timeout < server.timeout:
            message = f"{server.timeout:g} s is more than max_timeout, {server.max_timeout:g} s"
            self._add(f"{at}/timeout", message, "raise max_timeout, too")
        if len({*server.rename.values()}) < len(server.rename):
            self._add(f"{at}/rename", "two items get the same name", "give one another name")
        return server

    def _exchange(self, own: dict[str, Any], at: str) -> ExchangeSettings | None:
        rest = {name: value for name, value in own.items() if name != "client"}
        base: dict[str, Any] = {}
        if "client" in own:
            said = own["client"]
            if str(said).partition(":")[0] != "client-credentials":
                # The wrong value may be a secret, and is not repeated.
                hint = "write client-credentials:ID,SECRET, with names of variables"
                self._add(f"{at}/client", "it must be client-credentials", hint)
            elif isinstance(oauth := self._read_auth(said, f"{at}/client"), OAuth):
                base["client"] = oauth.client
        try:
            return self._read(ExchangeSettings, rest, at, base)
        except ProblemError:
            return None  # They are among the problems of the file.

    def _check_users(
        self, gateway: GatewaySettings, server: ServerSettings, kind: str, at: str
    ) -> None:
        place = f"{at}/auth/exchange" if kind == EXCHANGE else f"{at}/auth"
        if gateway.auth is None:
            message = "without auth of the gateway, clients have no tokens that say whose they are"
            self._add(place, message, "name the issuer and the audience of tokens")
        elif kind == LOGIN:
            try:
                require_https(gateway.auth.audience)
            except ValueError:
                message = "users log in at the audience of the gateway, which must be https"
                self._add(place, message, "make the audience the https URL of the gateway")
        if server.catalogue == "shared":
            message = "each user's tokens may show other items"
            self._add(f"{at}/catalogue", message, "leave it out, or write own")

    def _with_address(
        self, server: ServerSettings, located: LocatedEntry, said: object, at: str
    ) -> ServerSettings:
        entry, raw = located.entry, located.raw
        login = self._login(said, entry, f"{at}/auth")
        auth = WithoutUser() if login else self._authorization(said, entry, f"{at}/auth")
        server = replace(server, login=login)
        words = [_SLASH.sub("/", word) for word in (str(raw.command), *raw.args)]
        # A default may be a secret, too.
        address = _DEFAULT.sub("", safe_url(raw.address) if raw.address else safe_program(words))
        show = partial(_show_line, server.name)
        open_entry = protocol().connect_config.open_entry

        def open_as(user: HttpAuthorization | None) -> Opener:
            opener: Opener = open_entry(entry, user, show, new_http_client)
            return opener

        try:
            opener = open_as(auth)
        except ImportError as error:
            hint = "install it, or install mcp-gen with its extra http"
            self._problems.append(Problem("missing-package", str(error), hint=hint))
            return server
        except ValueError as error:
            # A text whose variable is not set may be wrong for that reason.
            if not self._has_problem(located.at):
                # The whole URL may have secrets.
                why = str(error).replace(repr(entry.address), address)
                hint = "check url and headers; the URL of a server often ends in /mcp"
                self._add(located.at, why, hint)
            return server
        return replace(
            server,
            address=address,
            transport="HTTP" if entry.address else "stdio",
            opener=refuse_echoes(opener),
            opener_digest=self._digest(entry, said, at),
            open_as=open_as if server.is_for_user else None,
            auth="none" if auth is None else server.auth.partition(":")[0],
        )

    def _login(self, said: object, entry: ConfigEntry, at: str) -> LoginSettings | None:
        if not isinstance(said, str) or said.partition(":")[0] != LOGIN:
            return None
        if not self._takes_tokens(entry, at):
            return LoginSettings()
        oauth = self._read_auth(said, at, LOGIN)
        return LoginSettings(client=oauth.client if isinstance(oauth, OAuth) else None)

    def _digest(self, entry: ConfigEntry, said: object, at: str) -> str:
        # A file with problems is refused, and must not get each problem twice.
        auth = None if self._problems else self.fill(said, f"{at}/auth", "auth")
        made_from = json.dumps([entry.model_dump(), auth], sort_keys=True)
        return sha256(made_from.encode()).hexdigest()

    def _read_env_file(self, file: str, at: str, server: str) -> dict[str, str]:
        self._on_file(self._folder / file)
        return super()._read_env_file(file, at, server)

    def _authorization(self, said: object, entry: ConfigEntry, at: str) -> HttpAuthorization | None:
        if is_object(said):
            return WithoutUser() if self._takes_tokens(entry, at) else None
        if not isinstance(said, str):
            return None
        kind = said.partition(":")[0]
        if kind not in _KINDS:
            # The wrong value may be a secret, and is not repeated.
            known = [*_KINDS, LOGIN]
            hint = did_you_mean(kind, known, "write bearer:VARIABLE, with the variable's name")
            self._add(at, f"it must be one of {', '.join(known)}", hint)
        elif (kind == "none" and entry.address) or self._takes_tokens(entry, at):
            return self._read_auth(said, at)
        return None

    def _takes_tokens(self, entry: ConfigEntry, at: str) -> bool:
        """Return whether requests to a server can have tokens; if not, that is a problem."""
        if not entry.address:
            self._add(at, "a program has no requests over HTTP", "leave it out, and use env")
        elif "authorization" in map(str.lower, entry.headers):
            self._add(at, "headers has an Authorization, too", "leave out one of them")
        else:
            return True
        return False

    def _read_auth(self, said: str, at: str, own_kind: str = "") -> HttpAuthorization | None:
        """Return the authorization with the secrets that a text names.

        `own_kind` is one of the gateway that is written like `oauth`.
        """
        if own_kind:
            said = f"{OAUTH}{said.removeprefix(own_kind)}"
        parts = said.partition(":")[2].split(",")
        own = {part: self.fill(part, at, "auth") for part in parts if "${" in part}
        if all(own.values()):
            try:
                return authorization(said, _show_login, {**os.environ, **own})
            except ProblemError as error:
                texts = error.problems[0].message, error.problems[0].hint
                told = [text.replace("--auth", "auth") for text in texts]
                self._add(at, *(text.replace(OAUTH, own_kind or OAUTH) for text in told))
        return None

    def _table(self, table: Mapping[str, Any], member: str, at: str) -> dict[str, Any] | None:
        """Return a table in another one, empty without it; None if it is something else."""
        value = table.get(member, {})
        if not is_object(value):
            self._add(f"{at}/{member}", "it must be an object", HINT)
            return None
        return value

    def _select_known(
        self, own: Mapping[str, Any], at: str, names: Collection[str]
    ) -> dict[str, Any]:
        """Return the members with these names; the others are problems."""
        for name in own.keys() - {*names}:
            hint = did_you_mean(name, names)
            self._add(f"{at}{jsonpointer.join(name)}", "there is no such member", hint)
        return {name: value for name, value in own.items() if name in names}

    def _read(self, cls: type[T], own: Mapping[str, Any], at: str, base: Mapping[str, Any]) -> T:
        """Return the values of a table, without those that are wrong."""
        made = _MADE if base else frozenset[str]()
        members = {field.name for field in fields(cls)} - made - ({"name"} & base.keys())
        of_host = _OF_HOST if self._is_toml and cls is ServerSettings else set[str]()
        known = self._select_known(own, at, members | of_host)
        given = {
            # Its variables are named, not replaced.
            name: value if name == "auth" else self.fill(value, f"{at}/{name}", "the gateway")
            for name, value in known.items()
            if name in members
        }
        if cls is GatewaySettings:
            given = {name: value for name, value in given.items() if name not in _TABLES}
        wrong = set[str]()
        for _ in range(3):
            values = {**base, **given}
            try:
                settings: T = _adapters()[cls.__name__].validate_python(values)
                return settings
            except ValidationError as error:
                for line in error.errors(include_url=False):
                    name = str(line["loc"][0])
                    if name not in wrong:
                        hint = HINT if name in own or name not in base else _WRONG_NAME.format(name)
                        self._add(*problem_of(line, values, at), hint)
                for name in {str(line["loc"][0]) for line in error.errors()}:
                    wrong.add(name)
                    if given.pop(name, None) is None:
                        given[name] = ""  # It has no default, or the default is wrong.
        raise ProblemError(*self._problems)

    def refuse(self, at: str, problem: str) -> None:
        if at == self.name and self._is_toml:
            problem = "add a table [servers.NAME] for each server"
        self._add(at, problem, _UNSET if problem.startswith("${") else HINT)

    def _look_up(self, placeholder: re.Match[str]) -> tuple[str | None, str]:
        text, problem = self._value(placeholder)
        if text is not None and len(text) >= _SHORT:
            variable = _DEFAULT.sub("", placeholder[0])
            self._secrets |= {text: variable, quote(text, safe=""): variable}
        return text, problem

    def _value(self, placeholder: re.Match[str]) -> tuple[str | None, str]:
        found = _FILE.fullmatch(placeholder[0])
        if found is None:
            text, problem = super()._look_up(placeholder)
            return text, _NO_INPUT if placeholder["input"] else problem
        self._on_file(self._folder / found[1])
        try:
            return (self._folder / found[1]).read_text("utf-8").strip(), ""
        except (OSError, ValueError) as error:
            return None, getattr(error, "strerror", None) or "it is not text in UTF-8"

    def _add(self, at: str, message: str, hint: str) -> None:
        self._problems.append(_problem(message, self._place(at), hint))

    def _has_problem(self, at: str) -> bool:
        """Return whether the URL or a header of a server has a problem already."""
        starts = tuple(self._place(f"{at}/{member}")[1] for member in _OF_HTTP)
        return any(problem.pointer.startswith(starts) for problem in self._problems)

    def _place(self, at: str) -> tuple[str, str]:
        """Return the file, and the pointer or the path in TOML."""
        pointer = at.removeprefix(self.name).removeprefix("#")
        if self._is_toml:
            steps = jsonpointer.split(pointer)
            pointer = ".".join(
                step if _BARE.fullmatch(step) else json.dumps(step) for step in steps
            )
        return self.name, pointer


@cache
def _adapters() -> Mapping[str, TypeAdapter[Any]]:
    return {
        cls.__name__: TypeAdapter(cls)
        for cls in (ServerSettings, GatewaySettings, AuthSettings, ExchangeSettings, RuleSettings)
    }


def _problem(message: str, place: tuple[str, str], hint: str) -> Problem:
    return Problem("bad-gateway-config", message, *place, hint=hint)


async def _open_nothing() -> Transport:
    raise Disconnected("the file has problems")


def _show_line(server: str, line: str) -> None:
    _log.info("%s wrote: %s", server, line)


def _show_login(line: str) -> None:
    _log.warning("%s", line)

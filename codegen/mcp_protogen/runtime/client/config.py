"""Connections to all servers of a configuration file, such as the `mcp.json` of a host."""

import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from itertools import permutations
from logging import getLogger
from os import PathLike
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    NamedTuple,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..core.connection_errors import Disconnected
from ..core.errors import ProtocolError, escape_step
from ..core.json import is_array, is_object, read_json
from ..core.models.validation_errors import problems
from ..core.options import USUAL, CallOptions, Options
from ..core.spec import CALL_TOOL
from ..core.tasks import together
from ..transports.base import Opener, StandardError
from .base import ClientBase
from .connect import C, C_co, Connector

ToolT = TypeVar("ToolT", covariant=True)
ResultT = TypeVar("ResultT", covariant=True)

_log: Final = getLogger(__name__)

_SEPARATOR: Final = "_"
_NOTHING: Final[Mapping[str, str]] = {}
_ZED_MEMBER: Final = "context_servers"
_MEMBERS: Final = ("mcpServers", "servers", _ZED_MEMBER)
"""The member with the servers: in most hosts, in VS Code, and in Zed (zed.dev/docs/ai/mcp)."""

# Hosts have others, such as `${command:id}`, which only they can fill in.
_PLACEHOLDER: Final = re.compile(
    r"\$\{(?:input:(?P<input>[^}]+)|(?:env:)?(?P<name>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?"
    r"|[^}]*)\}"
)
# Texts are matched too, or text that looks like a comment would be removed from them.
_TEXT: Final = r'(?P<text>"(?:[^"\\]|\\.)*")'
_COMMENT: Final = re.compile(rf"{_TEXT}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA: Final = re.compile(rf"{_TEXT}|,(?=\s*[}}\]])", re.DOTALL)

_VARIABLE: Final = re.compile(
    r"""(?:export\s+)? (?P<name>[A-Za-z_][\w.-]*) \s*=\s*
        (?: '(?P<plain>[^']*)' | "(?P<quoted>(?:[^"\\]|\\.)*)"
        | (?P<bare>(?:[^\s'"\#]\S*(?:\s+[^\s\#]\S*)*)?) )
        (?:\s+\#.*)?""",
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}

_EDITOR_FOLDERS: Final = (".vscode", ".cursor")

Config: TypeAlias = str | PathLike[str] | Mapping[str, Any]
"""A file, or its decoded JSON."""


class ConfigOptions(TypedDict, total=False):
    separator: str
    skip_failed: bool
    options: Options
    auth: Any


def _as_texts(value: Any) -> Any:
    if is_object(value):
        return {name: _as_texts(text) for name, text in value.items() if text is not None}
    if is_array(value):
        return [*map(_as_texts, value)]
    return str(value).lower() if isinstance(value, (bool, int, float)) else value


_Texts: TypeAlias = Annotated[dict[str, str], BeforeValidator(_as_texts)]


class ConfigError(ValueError):
    """A configuration that cannot be used, or a server in it that does not start."""


class ConfigEntry(BaseModel):
    model_config = ConfigDict(strict=True)

    type: str | None = None
    command: str | None = None
    args: Annotated[list[str], BeforeValidator(_as_texts)] = []
    env: _Texts = {}
    env_file: str | None = Field(None, alias="envFile")
    cwd: str | None = None
    url: str | None = None
    http_url: str | None = Field(None, alias="httpUrl")
    server_url: str | None = Field(None, alias="serverUrl")
    headers: _Texts = {}
    disabled: bool = False
    enabled: bool = True

    @property
    def address(self) -> str | None:
        """The URL; Gemini CLI and Windsurf have other names for it.

        geminicli.com/docs/tools/mcp-server, docs.windsurf.com/windsurf/cascade/mcp
        """
        return self.http_url or self.server_url or self.url


class LocatedEntry(NamedTuple):
    at: str
    entry: ConfigEntry
    raw: ConfigEntry  # with its variables, which may stand for secrets


class Servers(Mapping[str, C_co], Generic[C_co, ToolT, ResultT]):
    """The clients of several servers by name, and all their tools under prefixed names.

    The name of a tool is that of its server, the separator, and its own name.
    """

    def __init__(self, clients: Mapping[str, C_co], separator: str) -> None:
        self._clients = clients
        self._separator = separator

    def __getitem__(self, name: str) -> C_co:
        return self._clients[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._clients)

    def __len__(self) -> int:
        return len(self._clients)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> ResultT:
        """Call a tool by its prefixed name; raise `LookupError` for an unknown server."""
        for server, client in self._clients.items():
            prefix = server + self._separator
            if name.startswith(prefix):
                spec = client.TABLE.spec_of(CALL_TOOL)
                members = {} if arguments is None else {"arguments": dict(arguments)}
                params = spec.params(name=name.removeprefix(prefix), **members)
                result: ResultT = await client.request(spec, params, **options)
                return result
        raise LookupError(
            f"the tool {name} must begin with the name of a server: {', '.join(self)}"
        )

    async def iter_tools(self, **options: Unpack[CallOptions]) -> AsyncIterator[ToolT]:
        """Yield the tools of all servers under their prefixed names."""
        for server, client in self._clients.items():
            if "tools" not in client.__mcp_runtime__.peer_capabilities():
                continue
            listing: Any = client
            async for tool in listing.iter_tools(**options):
                yield tool.model_copy(update={"name": f"{server}{self._separator}{tool.name}"})


class ConnectConfig(Connector[C_co], Generic[C_co, ToolT, ResultT]):
    """Connects to the servers of a configuration; `connect_config` of a package."""

    @overload
    def __call__(
        self,
        config: Config,
        /,
        *,
        inputs: Mapping[str, str] = ...,
        **settings: Unpack[ConfigOptions],
    ) -> AbstractAsyncContextManager[Servers[C_co, ToolT, ResultT]]: ...
    @overload
    def __call__(
        self,
        config: Config,
        /,
        *,
        client: Callable[[], C],
        inputs: Mapping[str, str] = ...,
        **settings: Unpack[ConfigOptions],
    ) -> AbstractAsyncContextManager[Servers[C, ToolT, ResultT]]: ...
    def __call__(
        self,
        config: Config,
        /,
        *,
        client: Callable[[], ClientBase] | None = None,
        inputs: Mapping[str, str] = _NOTHING,
        **settings: Unpack[ConfigOptions],
    ) -> AbstractAsyncContextManager[Servers[Any, Any, Any]]:
        """Connect to all servers of a file, or of its decoded JSON.

        Each gets its own client, made by `client` or the plain one of the package's newest
        revision, and speaks its own revision. `skip_failed` logs a server that does not start, and
        leaves it out. `inputs` are for values that hosts ask their users, `${input:…}`. `auth`
        authorizes requests over HTTP, as in `open_http`, unless headers of the server do. Raise
        `ConfigError`, with the file, the JSON pointer and the server, and `OSError` if the file
        cannot be read.
        """
        source = ConfigSource(config, self.package, inputs)
        entries = dict(source.servers())
        _check_names(source.name, entries, settings.get("separator", _SEPARATOR))
        make_client = client or self.newest().Client
        return self._connect_servers(entries, make_client, **settings)

    def opener(
        self,
        config: Config,
        name: str,
        /,
        *,
        inputs: Mapping[str, str] = _NOTHING,
        auth: Any = None,
        stderr: StandardError = None,
        http: Any = None,
    ) -> Opener:
        """Return an opener of connections to one server of a file, or of its decoded JSON.

        `stderr` is that of `stdio_client`, for a server that is a program, and `http` that of
        `open_http`, for one at a URL. Raise `ConfigError` and `OSError` like `connect_config`, also
        for an unknown name.
        """
        source = ConfigSource(config, self.package, inputs)
        entries = dict(source.servers(name))
        if name in source.disabled:
            raise ConfigError(
                f"{source.disabled[name]}: the server {name} is disabled; enable it there"
            )
        if name not in entries:
            names = ", ".join([*source.others, *(f"{off} (disabled)" for off in source.disabled)])
            raise ConfigError(f"{source.name}: unknown server {name}; the servers are {names}")
        return self.open_entry(entries[name].entry, auth, stderr, http)

    @asynccontextmanager
    async def _connect_servers(
        self,
        entries: Mapping[str, LocatedEntry],
        make_client: Callable[[], ClientBase],
        separator: str = _SEPARATOR,
        skip_failed: bool = False,
        options: Options = USUAL,
        auth: Any = None,
    ) -> AsyncGenerator[Servers[Any, Any, Any], None]:
        revisions = self.package.REVISIONS
        clients: dict[str, ClientBase] = {}

        async def start(name: str, located: LocatedEntry) -> None:
            try:
                opener = self.open_entry(located.entry, auth)
                connecting = self.connection_through(
                    opener, (make_client(),), revisions=revisions, options=options
                )
                clients[name] = await stack.enter_async_context(connecting)
            except (Disconnected, ImportError, ProtocolError, ValueError) as error:
                problem = f"{located.at}: the server {name} does not start: {error}"
                if not skip_failed:
                    raise ConfigError(problem) from error
                _log.warning("%s", problem)

        async with AsyncExitStack() as stack:
            await together(start(name, located) for name, located in entries.items())
            # In the order of the file, not of the answers.
            yield Servers({name: clients[name] for name in entries if name in clients}, separator)

    def open_entry(
        self, entry: ConfigEntry, auth: Any, stderr: StandardError = None, http: Any = None
    ) -> Opener:
        if not entry.address:
            words, options = [entry.command, *entry.args], {"cwd": entry.cwd, "env": entry.env}
            return self.make_opener("program", entry.type, words, stderr=stderr, **options)
        if "authorization" in map(str.lower, entry.headers):
            auth = None
        options = {"headers": entry.headers, "auth": auth, "http": http}
        return self.make_opener("url", entry.type, entry.address, **options)


class ConfigSource:
    """The servers of a configuration; `file` is that of decoded JSON."""

    def __init__(
        self,
        config: Config,
        package: Any,
        inputs: Mapping[str, str] = _NOTHING,
        file: Path | None = None,
    ) -> None:
        self._transports = package.__mcp_transports__
        self.name = "the configuration"
        self.disabled: dict[str, str] = {}
        self.others: list[str] = []
        self._config: Any = config
        self._folder = Path()
        self._values = {"userHome": os.path.expanduser("~"), "pathSeparator": os.sep, "/": os.sep}
        if not isinstance(config, Mapping):
            file = Path(config)
            try:
                self._config = read_commented(file.read_text("utf-8-sig"))
            except ValueError as error:
                raise ConfigError(f"{file} is not JSON: {error}") from None
        if file is not None:
            self.name = str(file)
            folder = file.absolute().parent
            self._folder = folder.parent if folder.name in _EDITOR_FOLDERS else folder
            self._values["workspaceFolder"] = str(self._folder)
            self._values["workspaceFolderBasename"] = self._folder.name
        self._inputs = {**_default_inputs(self._config), **inputs}

    @property
    def member(self) -> str:
        """The member with the servers; empty without one."""
        tables = self._config if is_object(self._config) else {}
        return next((name for name in _MEMBERS if is_object(tables.get(name))), "")

    def servers(self, only: str | None = None) -> Iterator[tuple[str, LocatedEntry]]:
        """Yield all servers, or only one, ignoring mistakes in the others."""
        member = self.member
        if not member:
            self.refuse(self.name, f"add an object {' or '.join(_MEMBERS)} with the servers")
            return
        for name, value in self._config[member].items():
            at = f"{self.name}#/{member}/{escape_step(name)}"
            if is_object(value) and (
                value.get("disabled") is True or value.get("enabled") is False
            ):
                self.disabled[name] = at
                continue
            if only not in (None, name):
                self.others.append(name)
                continue
            given: Any = value
            if is_object(value):
                given = {key: item for key, item in value.items() if item is not None}
            try:
                entry = ConfigEntry.model_validate(given)
            except ValidationError as error:
                for pointer, message in problems(error, value):
                    self.refuse(f"{at}{pointer}", f"the server {name}: {message}")
                continue
            # In Zed, an entry with only settings belongs to an extension, which starts the server.
            if member == _ZED_MEMBER and not (entry.address or entry.command):
                continue
            if bool(entry.address) is bool(entry.command):
                self.refuse(at, f"the server {name} needs either `command` or `url`")
                continue
            types = self._transports["url" if entry.address else "program"]
            if entry.type not in (None, *types):
                self.refuse(f"{at}/type", f"the type of {name} must be {' or '.join(types)}")
                continue
            members = self.fill(entry.model_dump(by_alias=True), at, f"the server {name}")
            filled = ConfigEntry.model_construct(**members)
            if filled.env_file is not None:
                filled.env = {**self._read_env_file(filled.env_file, at, name), **filled.env}
            yield name, LocatedEntry(at, filled, entry)

    def refuse(self, at: str, problem: str) -> None:
        """Raise `ConfigError`, or return to leave it out."""
        raise ConfigError(f"{at}: {problem}") from None

    def _read_env_file(self, file: str, at: str, server: str) -> dict[str, str]:
        try:
            return read_variables((self._folder / file).read_text("utf-8-sig"))
        except (OSError, ValueError) as error:
            problem = getattr(error, "strerror", None) or error
            self.refuse(f"{at}/envFile", f"{file} of the server {server}: {problem}")
            return {}

    def fill(self, value: Any, at: str, owner: str) -> Any:
        def replace(placeholder: re.Match[str]) -> str:
            if (text := self._values.get(placeholder[0][2:-1])) is None:
                text, problem = self._look_up(placeholder)
                if text is None:
                    self.refuse(at, f"{placeholder[0]} of {owner}: {problem}")
            return text or ""

        if isinstance(value, str):
            return _PLACEHOLDER.sub(replace, value)
        if is_object(value):
            return {
                key: self.fill(member, f"{at}/{escape_step(key)}", owner)
                for key, member in value.items()
            }
        if is_array(value):
            return [self.fill(item, f"{at}/{place}", owner) for place, item in enumerate(value)]
        return value

    def _look_up(self, placeholder: re.Match[str]) -> tuple[str | None, str]:
        key, name, default = placeholder.groups()
        if key is not None:
            return self._inputs.get(key), f'the input has no value: give inputs={{"{key}": …}}'
        if name is not None:
            return os.environ.get(name, default), "the environment variable is not set"
        return None, "only a host can fill it in"


def _default_inputs(config: Any) -> dict[str, str]:
    inputs = config.get("inputs") if is_object(config) else None
    return {
        entry["id"]: entry["default"]
        for entry in (inputs if is_array(inputs) else ())
        if is_object(entry)
        and isinstance(entry.get("id"), str)
        and isinstance(entry.get("default"), str)
    }


def _check_names(source: str, names: Mapping[str, Any], separator: str) -> None:
    """Raise `ConfigError` if a prefixed tool name could belong to two servers."""
    for name, other_name in permutations(names, 2):
        if (other_name + separator).startswith(name + separator):
            raise ConfigError(
                f"{source}: tools of the servers {name} and {other_name} could have the same name;"
                f" give another separator than {separator!r}"
            )


def read_commented(text: str) -> Any:
    """Read JSON that may have comments and trailing commas; raise `ValueError`."""

    def blank(match: re.Match[str]) -> str:
        # Blanks keep the places of later errors.
        return match["text"] or re.sub(r"[^\n]", " ", match[0])

    return read_json(_LAST_COMMA.sub(blank, _COMMENT.sub(blank, text)))


def read_variables(text: str) -> dict[str, str]:
    """Read lines of `NAME=value`, as in `.env` files; raise `ValueError` with the line."""
    variables: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if (match := _VARIABLE.fullmatch(stripped)) is None:
            raise ValueError(f"line {number} is not NAME=value")
        value = match["plain"] if match["bare"] is None else match["bare"]
        if match["quoted"] is not None:
            value = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[0]), match["quoted"])
        variables[match["name"]] = value
    return variables

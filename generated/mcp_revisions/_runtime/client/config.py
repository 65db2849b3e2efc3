"""Connecting to all servers of a configuration file, such as the `mcp.json` of a host."""

import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib import import_module
from logging import getLogger
from os import PathLike
from pathlib import Path
from typing import (
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from pydantic import BaseModel, ConfigDict, ValidationError

from ..core.connection_errors import Disconnected
from ..core.errors import InvalidAnswer, ProtocolError
from ..core.json import is_array, is_object, read_json
from ..core.models.validation_errors import escaped, problems
from ..core.options import CallOptions, Options
from ..core.tasks import together
from ..transports.base import Opener
from .base import ClientBase
from .connect import USUAL
from .targets import Connect

C = TypeVar("C", bound=ClientBase)
C_co = TypeVar("C_co", bound=ClientBase, covariant=True)
ToolT = TypeVar("ToolT", covariant=True)
ResultT = TypeVar("ResultT", covariant=True)

_log: Final = getLogger(__name__)

_CALL: Final = "tools/call"
_SEPARATOR: Final = "_"
_MEMBERS: Final = ("mcpServers", "servers")
"""Where hosts have the servers; the second one is that of VS Code."""

# Hosts have others, such as `${input:key}`, which only they can fill in.
_PLACEHOLDER: Final = re.compile(
    r"\$\{(?:(?:env:)?(?P<name>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?|[^}]*)\}"
)


Config: TypeAlias = str | PathLike[str] | Mapping[str, Any]
"""A file, or the decoded JSON of one."""


class ConfigOptions(TypedDict, total=False):
    """Options of the connections to several servers; see `ConnectConfig`."""

    separator: str
    skip_failed: bool
    options: Options


class ConfigError(ValueError):
    """A configuration that cannot be used, or a server in it that does not start."""


class _Entry(BaseModel):
    """One server; what else hosts have there is for them alone."""

    model_config = ConfigDict(strict=True)

    type: Literal["stdio", "http", "streamable-http", "streamableHttp", "sse"] | None = None
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    disabled: bool = False


class _Found(NamedTuple):
    """A server of a configuration, and where it is."""

    at: str
    entry: _Entry


class Servers(Mapping[str, C_co], Generic[C_co, ToolT, ResultT]):
    """The clients of several servers by name, and the tools of all of them under longer names.

    The name of a tool is that of its server, the separator, and the name it has there.
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
        """Call a tool by its longer name; raise `LookupError` if there is no server for it."""
        for server, client in self._clients.items():
            prefix = server + self._separator
            if name.startswith(prefix):
                spec = client.TABLE.requests[_CALL]
                given = {} if arguments is None else {"arguments": dict(arguments)}
                params = spec.params(name=name.removeprefix(prefix), **given)
                call: Any = client
                result = await call.call_tool(params, **options)
                if isinstance(result, spec.results[0]):
                    return cast(ResultT, result)
                raise InvalidAnswer(f"{name} was answered with a task, which was not asked for")
        raise LookupError(f"no server for the tool {name}; there are {', '.join(self)}")

    async def iter_tools(self, **options: Unpack[CallOptions]) -> AsyncIterator[ToolT]:
        """Yield the tools of all servers that have some, under their longer names."""
        for server, client in self._clients.items():
            if "tools" not in client.__mcp_runtime__.peer_declared():
                continue
            listing: Any = client
            async for tool in listing.iter_tools(**options):
                yield tool.model_copy(update={"name": f"{server}{self._separator}{tool.name}"})


class ConnectConfig(Generic[C_co, ToolT, ResultT]):
    """Connects to the servers of a configuration; `connect_config` of a package."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._connect: Connect[Any] = Connect(package)

    @overload
    def __call__(
        self, config: Config, /, **settings: Unpack[ConfigOptions]
    ) -> AbstractAsyncContextManager[Servers[C_co, ToolT, ResultT]]: ...
    @overload
    def __call__(
        self, config: Config, /, *, client: Callable[[], C], **settings: Unpack[ConfigOptions]
    ) -> AbstractAsyncContextManager[Servers[C, ToolT, ResultT]]: ...
    def __call__(
        self,
        config: Config,
        /,
        *,
        client: Callable[[], ClientBase] | None = None,
        **settings: Unpack[ConfigOptions],
    ) -> AbstractAsyncContextManager[Servers[Any, Any, Any]]:
        """Connect to all servers of a file, or of what was read from one.

        Each gets a client of its own, the plain one of the package's newest revision or what
        `client` makes, and speaks its own revision. `skip_failed` leaves out a server that does not
        start, and logs why.

        Raises `ConfigError`, with the file, the JSON pointer and the server, and `OSError` if the
        file cannot be read.
        """
        source, read = "the configuration", config
        if not isinstance(config, Mapping):
            source = os.fspath(config)
            try:
                read = read_json(Path(config).read_bytes())
            except ValueError as error:
                raise ConfigError(f"{source} is not JSON: {error}") from None
        entries = dict(_entries(source, read))
        _check_names(source, entries, settings.get("separator", _SEPARATOR))
        make = client or import_module(self._package).REVISIONS[-1].load().Client
        return self._connected(entries, make, **settings)

    @asynccontextmanager
    async def _connected(
        self,
        entries: Mapping[str, _Found],
        make: Callable[[], ClientBase],
        separator: str = _SEPARATOR,
        skip_failed: bool = False,
        options: Options = USUAL,
    ) -> AsyncGenerator[Servers[Any, Any, Any], None]:
        revisions = import_module(self._package).REVISIONS
        clients: dict[str, ClientBase] = {}

        async def start(name: str, found: _Found) -> None:
            try:
                opener = self._opener(found.entry)
                connecting = self._connect(opener, make(), revisions=revisions, options=options)
                clients[name] = await stack.enter_async_context(connecting)
            except (Disconnected, ImportError, ProtocolError, ValueError) as error:
                problem = f"{found.at}: the server {name} does not start: {error}"
                if not skip_failed:
                    raise ConfigError(problem) from error
                _log.warning("%s", problem)

        async with AsyncExitStack() as stack:
            await together(start(name, found) for name, found in entries.items())
            # In the order of the file, whichever was the first to answer.
            yield Servers({name: clients[name] for name in entries if name in clients}, separator)

    def _opener(self, entry: _Entry) -> Opener:
        part = self._connect.part
        if entry.url:
            return part("open_http", entry.url, headers=entry.headers)
        return part("stdio_client", [entry.command, *entry.args], cwd=entry.cwd, env=entry.env)


def _entries(source: str, config: Any) -> Iterator[tuple[str, _Found]]:
    members = [name for name in _MEMBERS if is_object(config) and is_object(config.get(name))]
    if not members:
        raise ConfigError(f"{source}: there is no object {' or '.join(_MEMBERS)}")
    for name, given in config[members[0]].items():
        at = f"{source}#/{members[0]}/{escaped(name)}"
        try:
            entry = _Entry.model_validate(given)
        except ValidationError as error:
            pointer, message = problems(error, given)[0]
            raise ConfigError(f"{at}{pointer}: of the server {name}: {message}") from None
        if entry.disabled:
            continue
        if bool(entry.url) is bool(entry.command):
            raise ConfigError(f"{at}: the server {name} needs either a command or a url")
        filled = _filled(entry.model_dump(), at, name)
        yield name, _Found(at, _Entry.model_construct(**filled))


def _check_names(source: str, names: Mapping[str, Any], separator: str) -> None:
    """Raise `ConfigError` if the longer name of a tool could be one of two servers."""
    for one in names:
        for other in names:
            if one != other and other.startswith(one + separator):
                raise ConfigError(
                    f"{source}: tools of the servers {one} and {other} could have the same name;"
                    f" give another separator than {separator!r}"
                )


def _filled(value: Any, at: str, server: str) -> Any:
    """Return a value with environment variables in place of `${NAME}`.

    `${env:NAME}` and `${NAME:-default}` are the same, and the same with a default.
    """

    def variable(found: re.Match[str]) -> str:
        default: str | None = found["default"]
        text = os.environ.get(found["name"] or "", default)
        if text is None:
            what = "there is no such variable" if found["name"] else "only a host can fill it in"
            raise ConfigError(f"{at}: {found[0]} of the server {server}: {what}")
        return text

    if isinstance(value, str):
        return _PLACEHOLDER.sub(variable, value)
    if is_object(value):
        return {key: _filled(one, f"{at}/{escaped(key)}", server) for key, one in value.items()}
    if is_array(value):
        return [_filled(one, f"{at}/{number}", server) for number, one in enumerate(value)]
    return value

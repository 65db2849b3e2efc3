"""A client that agrees with its server on the version of each extension."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from ..connection import Connection
from ..core.errors import McpError
from ..core.extension_versions import VersionedExtension
from ..core.json import is_array, is_object
from ..core.spec import AnyRequest
from ..messages.envelope import CLIENT_CAPABILITIES, members, overlaid
from ..messages.method_table import EXTENSIONS
from ..messages.versioned_table import Agreed, VersionedTable
from ..rules import capabilities
from ..rules.handlers import made_once
from .base import ClientBase, ClientConnection, ClientRuntime, SendRequest


class VersionedRuntime(ClientRuntime):
    """Declares the newest version that the server has, too, or leaves the extension off.

    After the error for an unsupported version, a request is sent once more with another one.
    """

    def adopt(self, connection: ClientConnection) -> None:
        """Agree by the declaration of the server, before the first request."""
        core = connection.endpoint.connection
        if isinstance(table := core.table, VersionedTable):
            offered = core.declared["server"].get(EXTENSIONS)
            settings = offered if is_object(offered) else {}

            def offers(own: VersionedExtension) -> bool:
                family = table.candidates[own.family]
                if not any(version.identifier in settings for version in family):
                    return True  # servers need not declare every extension
                return own.fits("server", settings.get(own.identifier))

            agree(core, table, offers)
            connection.request = partial(self._send_again, core, connection.request)
            super().adopt(connection)
            self._notify = partial(self._notify_agreed, core, self._notify)
            return
        super().adopt(connection)

    async def _notify_agreed(
        self, core: Connection, send: SendRequest, spec: Any, params: Any
    ) -> None:
        await send(_agreed_form(core, spec), params)

    async def _send_again(
        self, core: Connection, send: SendRequest, spec: AnyRequest, params: Any, *options: Any
    ) -> Any:
        try:
            return await send(_agreed_form(core, spec), params, *options)
        except McpError as error:
            if not _agree_anew(core, error, spec, params):
                raise
        return await send(_agreed_form(core, spec), params, *options)


class VersionedClient(ClientBase):
    """Base of a client with an extension of which there are several versions."""

    @made_once
    def __mcp_runtime__(self) -> ClientRuntime:
        usual: Any = type(super().__mcp_runtime__)
        made: ClientRuntime = _runtime_class(usual)(self)
        return made


@cache
def _runtime_class(other: type[ClientRuntime]) -> Any:
    """Return the class of runtimes that also do what that of other bases does."""
    return type("Runtime", (VersionedRuntime, other), {})


def agree(
    core: Connection, table: VersionedTable, offers: Callable[[VersionedExtension], bool]
) -> Agreed:
    """Declare the newest version of each extension that is offered; return the versions."""
    declared = core.declared["client"]
    extensions = dict(declared.get(EXTENSIONS, {}))
    agreed: dict[str, VersionedExtension | None] = {}
    for family, versions in table.candidates.items():
        agreed[family] = chosen = next(filter(offers, versions), None)
        others = {version.identifier for version in versions}
        if chosen is not None:
            others.discard(chosen.identifier)
            chosen.declare("client", extensions)
        for identifier in others:
            extensions.pop(identifier, None)
    core.declared["client"] = {**declared, EXTENSIONS: extensions}
    if core.envelope is not None:
        changed = members({CLIENT_CAPABILITIES: core.declared["client"]})
        core.envelope = overlaid(core.envelope, changed)
    core.table = table.with_agreed(agreed)
    return agreed


def _agreed_form(core: Connection, spec: Any) -> Any:
    return core.table.agreed_form(spec) if isinstance(core.table, VersionedTable) else spec


def _agree_anew(core: Connection, error: McpError, spec: AnyRequest, params: Any) -> bool:
    """Agree by the data of an error; return whether the request can be sent once more."""
    table = core.table
    if not isinstance(table, VersionedTable) or not is_object(error.data):
        return False
    data = error.data

    def offers(own: VersionedExtension) -> bool:
        rule = own.rule
        if rule.error is None or rule.error.code != error.code:
            return table.agreed.get(own.family) is own
        named = data.get(rule.error.by_identifier)
        entry = named.get(own.identifier) if is_object(named) else None
        if not is_object(entry):
            return table.agreed.get(own.family) is own
        supported = entry.get(rule.error.supported)
        texts = supported if is_array(supported) else []
        return rule.agrees(own.base, [text for text in texts if isinstance(text, str)])

    agreed = agree(core, table, offers)
    needs = _agreed_form(core, spec).requires
    unmet = capabilities.unmet(needs, "client", params, core.declared)
    return agreed != table.agreed and unmet is None

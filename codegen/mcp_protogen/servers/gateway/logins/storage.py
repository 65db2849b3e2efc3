"""The store of all users' logins: tokens belong to a user, and registrations to a server."""

from json import dumps, loads
from typing import Final

from mcp_protogen.runtime.core.throttle import Throttle
from mcp_protogen.runtime.features.auth.client.storage import TokenStorage
from mcp_protogen.runtime.features.auth.errors import AuthorizationError

_log: Final = Throttle("mcp_protogen.gateway")


class UserStorage:
    """The part of a store for one user of a server; a `TokenStorage`.

    The gateway is one client for all users: a new user has the registration of the last one.
    """

    def __init__(self, storage: TokenStorage, server: str, principal: str) -> None:
        self._storage, self._server, self._principal = storage, server, principal

    async def get(self, key: str) -> str | None:
        try:
            value = await self._storage.get(self._own(key))
            if value is None and loads(key)[0] != "tokens":
                value = await self._storage.get(self._of_all(key))
        except (OSError, ValueError) as error:
            _log.warning("%s: logins cannot be read: %s", self._server, error)
            raise AuthorizationError("the gateway cannot read its logins") from error
        return value

    async def set(self, key: str, value: str) -> None:
        kind = loads(key)[0]
        if kind != "client":
            await self._storage.set(self._own(key), value)
        if kind != "tokens":
            await self._storage.set(self._of_all(key), value)

    async def delete(self, key: str) -> None:
        await self._storage.delete(self._own(key))

    def _own(self, key: str) -> str:
        return dumps([self._server, self._principal, key])

    def _of_all(self, key: str) -> str:
        return dumps([self._server, key])

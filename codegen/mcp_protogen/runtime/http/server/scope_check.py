"""The scopes that calls need beyond those of every request, by method and by item.

They are checked before any work, so that the answer can be a challenge that names the scopes of all
calls in a request (2026-07-28, basic/authorization, "Runtime Insufficient Scope Errors").
"""

from collections.abc import Collection, Iterable, Mapping

from ...core.errors import RequestId
from ...core.oauth_scopes import NO_SCOPES, InsufficientScope
from ...core.throttle import Throttle
from ...messages.jsonrpc import Call
from ...rpc.jobs import Reply
from ...server.base import package_of
from ...server.connection import ServerConnection
from ...server.context import RequestContext
from ...server.serve import Server
from .asgi import Field, HttpExchange, HttpRefusal
from .authentication import Authentication


class ScopeCheck:
    """The check of calls' scopes, if there is an `authentication`."""

    def __init__(self, authentication: Authentication | None) -> None:
        self._authentication = authentication
        needed = None if authentication is None else authentication.needed_by
        self._by_method: Mapping[str, frozenset[str]] = needed or {}
        self._log = Throttle(__name__)

    def asks(self, connection: ServerConnection) -> bool:
        """Return whether anything on a connection may need scopes."""
        return connection.bound_server.runtime.wants_scopes or bool(self._by_method)

    async def check(
        self,
        connection: ServerConnection,
        calls: Iterable[Call],
        exchange: HttpExchange,
        reply: Reply | None,
    ) -> None:
        """Raise `HttpRefusal` if the request's token does not allow all its calls.

        Items hidden from the client need no scopes, so that answers do not reveal them.
        """
        calls, runtime = list(calls), connection.bound_server.runtime
        needed, table = self._scopes_of_methods(calls), connection.endpoint.connection.table
        for call in calls:
            name = table.own_name(call.method)
            needed |= self._by_method.get(name, NO_SCOPES)
            if runtime.wants_scopes:
                context = RequestContext(connection, None, reply, call.meta)
                needed |= await runtime.scopes_of(name, call.params, context.session())
        self._require(needed, calls, exchange)

    def check_methods(self, calls: Iterable[Call], exchange: HttpExchange) -> None:
        """Check calls by method only; see `check`."""
        if self._by_method:
            calls = list(calls)
            self._require(self._scopes_of_methods(calls), calls, exchange)

    def _scopes_of_methods(self, calls: Iterable[Call]) -> frozenset[str]:
        return NO_SCOPES.union(*(self._by_method.get(call.method, ()) for call in calls))

    def _require(self, needed: frozenset[str], calls: list[Call], exchange: HttpExchange) -> None:
        principal, exchange.needed = exchange.principal, needed
        if not needed or (principal is not None and needed <= principal.scopes):
            return
        if self._authentication is not None:
            needed |= self._authentication.needed
        id = calls[0].id if len(calls) == 1 else None
        raise self.refusal(exchange, InsufficientScope(needed), id)

    def refusal(
        self, exchange: HttpExchange, error: InsufficientScope, id: RequestId | None = None
    ) -> HttpRefusal:
        fields = self.challenge(exchange, error)
        text, code = error.message, error.code
        return HttpRefusal(error.status, text, code=code, id=id, data=error.data, fields=fields)

    def challenge(self, exchange: HttpExchange, error: InsufficientScope) -> tuple[Field, ...]:
        """Return the challenge with the required scopes, if tokens are used.

        Scopes that a handler asks for come with those that the request needs anyway: some clients
        get a token for the scopes of the latest challenge only.
        """
        if self._authentication is None:
            advice = "set HttpOptions(authentication=...)"
            self._log.warning("scopes are required, but tokens are not checked: %s", advice)
            return ()
        return self._authentication.insufficient(
            exchange, error.scopes | exchange.needed, error.message
        )


def check_known(methods: Collection[str], servers: Iterable[Server]) -> None:
    """Raise `ValueError` for an unknown method, whose real name would stay unguarded."""
    if not methods:
        return
    known = set[str]()
    for server in servers:
        cls = server if isinstance(server, type) else type(server)
        known |= cls.REQUESTS.keys() | cls.NOTIFICATIONS.keys()
        for revision in package_of(cls).REVISIONS:
            table = revision.load().methods.TABLE
            known |= table.requests.keys() | table.notifications.keys()
    if unknown := sorted(set(methods) - known):
        raise ValueError(f"method_scopes: no revision has a method {unknown[0]!r}")

"""What the handler of a request knows of, and may say to, the client that sent it.

A session belongs to one request, or to a connection as a whole when there is no request to belong
to. What it says on the way, progress and log entries, is bound to its request: it stops when the
request is answered or cancelled.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic_core import PydanticSerializationError

from .dispatch import Request
from .envelope import CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN, client_capabilities
from .errors import LocalError, RequestId
from .inputs import Inputs, ask
from .jsonvalue import is_object
from .logs import Level, passes
from .peer import Peer
from .spec import Role

if TYPE_CHECKING:
    from .side import Side

_NO_META: Final[Mapping[str, Any]] = {}


class SessionBase(Peer):
    """Base of the generated session."""

    ROLE: ClassVar[Role] = "server"

    def __init__(
        self,
        side: "Side",
        request: Request[Any] | None = None,
        meta: Mapping[str, Any] = _NO_META,
    ) -> None:
        self._side = side
        self._endpoint = side.endpoint
        self._request = request
        self._meta = meta
        self._done: float | None = None
        self._reported = float("-inf")
        self.inputs: Inputs | None = None
        """What the client answered to the questions of the round before; None in the first one."""

    @property
    def request_id(self) -> RequestId | None:
        """The id of the request that is handled, if it is one."""
        return None if self._request is None else self._request.id

    @property
    def principal(self) -> str | None:
        """Whom the transport has authenticated, if it does."""
        return self._connected().principal

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far its request has come, if it asked to be told.

        `done` has to grow: a report that says no more than the one before is not sent, nor is one
        that comes too soon after it, unless it completes `total`
        (basic/utilities/progress, "Behavior Requirements" and "Implementation Notes").
        """
        token = self._meta.get(PROGRESS_TOKEN)
        request, endpoint = self._request, self._connected()
        if token is None or request is None or not endpoint.connection.is_open(request.id):
            return
        if self._done is not None and done <= self._done:
            return
        now = endpoint.now()
        complete = total is not None and done >= total
        if not complete and now - self._reported < endpoint.options.progress_interval:
            return
        self._done, self._reported = done, now
        spec = self.TABLE.notifications["notifications/progress"]
        said: dict[str, Any] = {"progress_token": token, "progress": done, "total": total}
        # The first revision has progress without words.
        if "message" in spec.params.model_fields:
            said["message"] = message
        await endpoint.notify(spec, spec.params(**said))

    async def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Send a log entry, if the client wants entries of that level.

        Wanted is, in the handshake revisions, what `logging/setLevel` asked for, and everything
        before it did; in 2026-07-28, what the request itself asked for, and nothing if it did not.
        Raises `LocalError` if the server does not declare `logging`, as one does that names
        `notifications/message` in `SENDS`.
        """
        threshold = self._threshold()
        if threshold is None or not passes(level, threshold):
            return
        spec = self.TABLE.notifications["notifications/message"]
        try:
            params = spec.params(level=level, data=data, logger=logger)
            await self.notify(spec, params)
        except PydanticSerializationError as error:
            raise LocalError(f"a log entry cannot be written: {error}") from error

    def _threshold(self) -> str | None:
        if self.TABLE.rules.era == "handshake":
            return self._side.level
        open = self._request is not None and self._connected().connection.is_open(self._request.id)
        level = self._meta.get(LOG_LEVEL)
        return level if open and isinstance(level, str) else None

    def _peer_declared(self) -> Mapping[str, Any]:
        if self.TABLE.rules.era == "handshake":
            return self._connected().connection.declared["client"]
        return client_capabilities(self._meta)

    def _peer_info(self) -> Mapping[str, Any] | None:
        if self.TABLE.rules.era == "handshake":
            return self._connected().connection.identity.get("client")
        info = self._meta.get(CLIENT_INFO)
        return info if is_object(info) else None

    def _ask(self, requests: Mapping[str, Any], state: Any) -> dict[str, Any]:
        """The members of a result that asks the client for more; see `inputs.ask`."""
        if self._request is None:
            raise LocalError("only the answer to a request can ask for input")
        asking = self._side.asking(self._request, self._meta)
        sealed = ask(requests, state, asking)
        return {"input_requests": dict(requests) or None, "request_state": sealed}

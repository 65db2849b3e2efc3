"""The client: one connection to a server, its calls and its handlers in one class."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, Protocol, TypeVar

from ..core.errors import LocalError, MethodNotFound
from ..core.forms import ELICIT, as_asked
from ..core.json import JSONObject
from ..core.models.base import WireModel
from ..core.options import CallOptions
from ..core.spec import NotificationSpec, RequestSpec, Role
from ..messages.method_table import MethodTable
from ..messages.parsed import Notification
from ..rpc.endpoint import Endpoint
from ..rpc.incoming import Job
from ..rpc.peer import Peer
from ..rules.client_negotiation import NegotiatedRevision
from ..rules.handlers import Handlers, HandlerSet, runtime_of
from . import input_rounds

P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a client knows of the server that it is connected to."""

    endpoint: Endpoint
    verdict: NegotiatedRevision
    instructions: str | None
    ways: "EraAdapter | None" = None
    """How the messages of one era get through to a server of the other."""


class EraAdapter(Protocol):
    """The stand-in for the connection where client and server are of different eras."""

    async def open(self) -> None:
        """Say what holds for the whole connection."""
        ...

    async def request(self, spec: RequestSpec[Any, Any], params: Any, options: CallOptions) -> Any:
        """Send a request and wait for its result."""
        ...

    def on_notification(
        self, notification: Notification[Any], meta: Mapping[str, Any]
    ) -> Awaitable[None] | None:
        """Return the work that a notification is for the client, if it is any."""
        ...


class ClientRuntime(HandlerSet):
    """The runtime's part of a client: the agreement with the server that it is connected to."""

    def __init__(self, owner: "ClientBase") -> None:
        super().__init__(owner)
        self.client: Final = owner
        self._agreement: Agreement | None = None

    def adopt(self, agreement: Agreement) -> None:
        """Speak as agreed from now on."""
        self._agreement = agreement

    @property
    def agreement(self) -> Agreement:
        """The result of the negotiation; raises `LocalError` before the client is connected."""
        if self._agreement is None:
            raise LocalError("not connected")
        return self._agreement

    @property
    def revision(self) -> str:
        """The revision that was agreed on with the server; the client's own before that."""
        agreed = self._agreement
        return self.owner.TABLE.revision if agreed is None else agreed.verdict.revision

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint that carries the messages; raises `LocalError` before there is one."""
        return self.agreement.endpoint

    async def request(self, spec: RequestSpec[P, R], params: P | None, options: CallOptions) -> R:
        """Send a request and wait for its result, whatever era the server is of."""
        agreed = self.agreement
        if agreed.ways is None:
            return await agreed.endpoint.request(spec, params, options)
        result: R = await agreed.ways.request(spec, params, options)
        return result

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        """Send a notification."""
        await self.endpoint.notify(spec, params)

    def peer_declared(self) -> Mapping[str, Any]:
        """Return the JSON object of the capabilities that the server has declared."""
        return self.endpoint.connection.declared["server"]

    def peer_info(self) -> Mapping[str, Any] | None:
        """Return the JSON object of what the server calls itself, if it does."""
        return self.endpoint.connection.identity.get("server")

    async def complete(
        self, spec: RequestSpec[P, Any], params: P | None, options: CallOptions
    ) -> Any:
        """Make a request, answer what the server asks back, and make it again, until it is done.

        Raises `InvalidAnswer` if the server asks too often, or for what the client has not
        declared.
        """
        result = await self.client.request(spec, params, **options)
        if not isinstance(result, spec.results[-1]):
            return result
        said: Any = spec.params.from_wire({}) if params is None else params

        async def again(answers: Mapping[str, Any] | None, state: str | None) -> Any:
            more = {"input_responses": answers, "request_state": state}
            return await self.client.request(spec, said.model_copy(update=more), **options)

        limit = self.endpoint.options.max_rounds
        return await input_rounds.complete(spec, result, self._prepare, again, limit)

    def _prepare(self, key: str, question: Any) -> input_rounds.Work:
        spec, _ = self.owner.INPUT_REQUESTS[question.method]
        input_rounds.check(key, spec, question.params, self.endpoint.connection.declared)
        return partial(self.answer, question.method, question.params)

    async def answer(self, method: str, params: Any) -> Any:
        """Answer a question that came inside a result."""
        spec, name = self.owner.INPUT_REQUESTS[method]
        handler = self.bound(self.revision).get(method) or getattr(self.owner, name)
        given = spec.params() if params is None else params
        answer = await handler(given)
        if method != ELICIT or not isinstance(answer, WireModel):
            return answer
        asked: JSONObject = given.to_wire()
        return type(answer).from_wire(as_asked(answer.to_wire(), asked, asked))


class ClientBase(Peer, Handlers):
    """Base of the generated client."""

    ROLE: ClassVar[Role] = "client"

    @property
    def __mcp_runtime__(self) -> ClientRuntime:
        return runtime_of(self, ClientRuntime)

    @property
    def revision(self) -> str:
        """The revision that was agreed on with the server; the client's own before that."""
        return self.__mcp_runtime__.revision

    @property
    def verdict(self) -> NegotiatedRevision:
        """The revision that was agreed on, and its era; spares the next connection the probe.

        Raises `LocalError` before the client is connected.
        """
        return self.__mcp_runtime__.agreement.verdict

    @property
    def instructions(self) -> str | None:
        """The server's instructions for a model that uses it; see `verdict` for errors."""
        return self.__mcp_runtime__.agreement.instructions


class ClientConnection:
    """A client on one connection, which handles what the server sends."""

    __slots__ = ("_handlers", "_table", "ways")

    def __init__(self, client: ClientBase, table: MethodTable) -> None:
        self._handlers = client.__mcp_runtime__.bound(table.revision)
        self._table = table
        self.ways: EraAdapter | None = None

    async def serve(self, job: Job) -> Any:
        """Return the result of a request that the server sends."""
        request = job.request
        method = request.spec.method
        handler = self._handlers.get(method)
        if handler is not None:
            answer = await handler(request.params)
            return self._fitted(answer, job) if method == ELICIT else answer
        if method == "ping":
            return request.spec.results[0]()
        raise MethodNotFound(method)

    def _fitted(self, answer: Any, job: Job) -> Any:
        """Return the answer to a question in the words in which the server has put it."""
        if not isinstance(answer, job.request.spec.results[0]) or not isinstance(answer, WireModel):
            return answer  # a task; what is no answer at all is refused where it is to be sent
        said = self._table.carry_out(ELICIT, "result", answer.to_wire())
        native: type[WireModel] = self._table.wire.requests[ELICIT].results[0]
        return native.from_wire(as_asked(said, job.request.raw, job.request.params.to_wire()))

    def on_notification(
        self, notification: Notification[Any], meta: Mapping[str, Any]
    ) -> Awaitable[None] | None:
        """Return the work that a notification is for the client, if it is any."""
        if self.ways is not None:
            return self.ways.on_notification(notification, meta)
        handler = self._handlers.get(notification.spec.method)
        return None if handler is None else handler(notification.params)

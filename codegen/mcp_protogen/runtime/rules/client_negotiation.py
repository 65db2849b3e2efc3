"""A client's negotiation: which revision and era to try next, and when to give up.

`Negotiation` returns a step, gets its outcome, and returns the next step, until it adopts a
revision or fails. Its rules:

* A valid answer to `server/discover`, or an error that only servers of the stateless era have,
  means that era. After any other answer the handshake is tried (2026-07-28,
  basic/transports/stdio, "Backward Compatibility").
* A silent server is treated as an old one if the client knows a handshake. A program that may hang
  is restarted for it, and a broken connection is replaced, each once.
* Over HTTP, 4xx and 5xx mean an old server: some answer an unknown method with 500. If the
  handshake fails too, both failures are reported.
* However, 401 and 403 depend on the user, and a 429 with a time to retry on the rate. These are
  reported, as are other statuses, silence and a broken connection (2026-07-28,
  basic/transports/streamable-http, "Backward Compatibility").
* Only a revision of the offer is ever adopted, and nothing is tried twice.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from ..core.connection_errors import Disconnected, HttpError, NegotiationError, RequestTimeout
from ..core.errors import (
    HEADER_MISMATCH,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    InvalidAnswer,
    McpError,
)
from ..core.json import is_array, is_object
from ..core.spec import EraName
from ..messages.codec import MessageCodec
from ..messages.method_table import ERAS, HANDSHAKE_ERA, STATELESS_ERA
from .server_negotiation import DISCOVER, INITIALIZE, Offer


@dataclass(frozen=True, slots=True)
class NegotiatedRevision:
    """The revision and era of a server; may be kept for the next connection to it."""

    revision: str
    era: EraName


class Ask(NamedTuple):
    """A step: send `server/discover` or `initialize` with a revision."""

    method: str
    version: str


class Restart(NamedTuple):
    """A step: close the connection, open a new one, and do `then`."""

    then: Ask


class Adopt(NamedTuple):
    """A step: speak the negotiated revision; `result` is the answer of the server."""

    negotiated: NegotiatedRevision
    result: Any


Step: TypeAlias = Ask | Restart | Adopt | Exception
"""An error is the step to give up and raise it."""


class Answered(NamedTuple):
    result: object


Outcome: TypeAlias = Answered | Exception
"""Errors other than `McpError` and `Disconnected` say why there is no answer."""

# Errors that only servers of the stateless era send, by their names in facts.
_ERRORS: Final = {
    "HEADER_MISMATCH": HEADER_MISMATCH,
    "MISSING_REQUIRED_CLIENT_CAPABILITY": MISSING_CLIENT_CAPABILITY,
    "UNSUPPORTED_PROTOCOL_VERSION": UNSUPPORTED_VERSION,
}


def stateless_error(code: int, tables: Iterable[MessageCodec]) -> int | None:
    """Return the code that such an error has in 2026-07-28; None for another error."""
    errors = [table.errors[code] for table in tables if code in table.errors]
    own = (_ERRORS[error.name] for error in errors if error.name in _ERRORS)
    return next(own, code if code in _ERRORS.values() else None)


class Negotiation:
    """The negotiation with one server, within `offer`; `known` is an earlier result.

    `table_of` has the tables of revisions. `restartable` is whether a new connection restarts the
    server.
    """

    def __init__(
        self,
        offer: Offer,
        known: NegotiatedRevision | None = None,
        *,
        table_of: Callable[[str], MessageCodec] | None = None,
        over_http: bool = False,
        restartable: bool = False,
    ) -> None:
        if not offer.eras:
            raise ValueError("a client needs at least one revision")
        self._offer = offer
        self._allowed = f"the client allows {', '.join(offer.all)}"
        self._over_http = over_http
        self._table_of = table_of
        fits = known is not None and known.revision in offer.of(known.era)
        self._known = known if fits else None
        self._method = ""
        self._tried = set[Ask]()
        self._corrections = set[str]()
        self._restartable = restartable
        self._restarted = False
        self._probed_again = False
        self._server_failure: HttpError | None = None

    def _stateless_error(self, code: int) -> int | None:
        tables = map(self._table_of, self._offer.stateless) if self._table_of else ()
        error = stateless_error(code, tables)
        # On stdio, an error about headers shows nothing (basic, "Error Codes").
        return error if self._over_http or error != HEADER_MISMATCH else None

    @property
    def silence_means_old(self) -> bool:
        """Return whether a server that does not answer the probe gets another request."""
        return bool(self._offer.handshake) and not self._over_http

    def start(self) -> Step:
        if self._known is None:
            return self._first_step()
        return self._ask(ERAS[self._known.era].opened_by, self._known.revision)

    def _first_step(self) -> Ask:
        # A client of only the stateless era asks first too: an old server might mistake another
        # request for one of its own (basic/transports/stdio, "Backward Compatibility").
        if self._offer.stateless:
            return self._ask(DISCOVER, self._offer.stateless[0])
        return self._ask(INITIALIZE, self._offer.handshake[0])

    def _ask(self, method: str, version: str) -> Ask:
        self._method, ask = method, Ask(method, version)
        self._tried.add(ask)
        return ask

    def next(self, outcome: Outcome) -> Step:
        step = self._step(outcome)
        if isinstance(step, Exception) and self._server_failure is not None:
            step.args = (f"{step}; before that, {self._server_failure}",)
        return step

    def _step(self, outcome: Outcome) -> Step:
        if isinstance(outcome, Exception) and self._is_final(outcome):
            return outcome
        discovers = self._method == DISCOVER
        step = (self._after_discover if discovers else self._after_initialize)(outcome)
        if isinstance(step, Exception) and self._known is not None:
            # The earlier result was wrong; a new attempt may find something else.
            self._known = None
            self._tried.clear()
            self._restarted = True
            return Restart(self._first_step())
        return step

    def _is_final(self, error: Exception) -> bool:
        match error:
            case RequestTimeout():
                return not self.silence_means_old
            case Disconnected():
                return self._over_http
            case HttpError(status=status) if _is_server_failure(error):
                # Without a handshake to try, or after an earlier result, this is a plain failure.
                decided = not self._offer.handshake or self._known is not None
                return decided or (status == 429 and error.retry_after is not None)
            case HttpError(status=status):
                # A success without a message does not come from the stateless era.
                return status // 100 not in (2, 4) or status in (401, 403)
            case _:
                return not isinstance(error, McpError | InvalidAnswer)

    def _after_discover(self, outcome: Outcome) -> Step:
        match outcome:
            case Answered(result):
                supported = _read_names(result, "supportedVersions")
                if supported is None:
                    # An old server might answer anything to an unknown method.
                    return self._try_handshake()
                for version in self._offer.stateless:
                    if version in supported:
                        return Adopt(NegotiatedRevision(version, STATELESS_ERA.name), result)
                return self._common_handshake(supported)
            case McpError(code=code, data=data) if self._stateless_error(code) is not None:
                return self._correct_version(outcome, _read_names(data, "supported") or ())
            case RequestTimeout() if self._restartable and not self._restarted:
                return self._restart()
            case McpError() | RequestTimeout():
                return self._try_handshake()
            case Disconnected() if self._restarted or not self._offer.handshake:
                return outcome
            case Disconnected():
                return self._restart()
            case error:
                if isinstance(error, HttpError) and _is_server_failure(error):
                    self._server_failure = error
                return self._try_handshake(f" ({error})")

    def _restart(self) -> Step:
        self._restarted = True
        return Restart(self._ask(INITIALIZE, self._offer.handshake[0]))

    def _correct_version(self, error: McpError, supported: Sequence[str]) -> Step:
        if self._stateless_error(error.code) != UNSUPPORTED_VERSION:
            # The client has declared all its capabilities, and its fields repeat its message.
            return error
        # Behind one URL there may be several servers that support different revisions: there, each
        # revision is tried once more.
        discovered = {version for method, version in self._tried if method == DISCOVER}
        count = self._corrections if self._over_http else discovered
        for revision in self._offer.stateless:
            if revision in supported and revision not in count:
                self._corrections.add(revision)
                return self._ask(DISCOVER, revision)
        return self._common_handshake(supported)

    def _common_handshake(self, supported: Sequence[str]) -> Ask | NegotiationError:
        for version in self._offer.handshake:
            if version in supported and Ask(INITIALIZE, version) not in self._tried:
                return self._ask(INITIALIZE, version)
        return self._no_agreement(supported)

    def _no_agreement(self, supported: Sequence[str]) -> NegotiationError:
        names = ", ".join(supported) or "no revision"
        common = ", ".join(version for version in self._offer.all if version in supported)
        message = f"no revision in common: {self._allowed}; the server lists {names}"
        if common:
            message = f"the server refuses {common}, although it lists {names} as supported"
        return NegotiationError(message, self._offer.all, supported)

    def _try_handshake(self, because: str = "") -> Step:
        if not self._offer.handshake:
            message = f"the server only speaks revisions with a handshake; {self._allowed}{because}"
            return NegotiationError(message, self._offer.all)
        return self._ask(INITIALIZE, self._offer.handshake[0])

    def _after_initialize(self, outcome: Outcome) -> Step:
        if isinstance(outcome, McpError):
            return self._after_refusal(outcome)
        if not isinstance(outcome, Answered):
            # Never cancelled (basic/utilities/cancellation); the connection is closed instead.
            return outcome
        result = outcome.result
        version = result.get("protocolVersion") if is_object(result) else None
        if not isinstance(version, str):
            problem = ("/result/protocolVersion", "Input should be a string")
            return InvalidAnswer("Invalid result of initialize", [problem])
        if version in self._offer.stateless:
            message = f"the server answered initialize with {version}, which has no handshake"
            return NegotiationError(message, self._offer.all, [version])
        if version not in self._offer.handshake:
            return self._no_agreement([version])
        return Adopt(NegotiatedRevision(version, HANDSHAKE_ERA.name), result)

    def _after_refusal(self, error: McpError) -> Step:
        supported = _read_names(error.data, "supported")
        if supported is None:
            return error
        for revision in self._offer.stateless:
            # It is of the stateless era after all, and only answered late.
            if revision in supported and not self._probed_again:
                self._probed_again = True
                return self._ask(DISCOVER, revision)
        step = self._common_handshake(supported)
        return Restart(step) if isinstance(step, Ask) else step


def _is_server_failure(error: HttpError) -> bool:
    return error.status == 429 or error.status >= 500


def _read_names(value: object, member: str) -> Sequence[str] | None:
    names = value.get(member) if is_object(value) else None
    if is_array(names) and all(isinstance(name, str) for name in names):
        return names
    return None

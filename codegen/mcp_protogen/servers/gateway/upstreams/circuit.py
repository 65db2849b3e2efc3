"""The circuit of a server: after failures to connect, it is tried only from time to time.

Meanwhile requests fail at once, for the clients of all fronts.
"""

from asyncio import CancelledError, get_running_loop
from collections.abc import Callable, Generator
from contextlib import contextmanager
from logging import getLogger
from typing import Final, TypeAlias

from mcp_protogen.runtime.core.connection_errors import Disconnected, RevisionLost, Unsent
from mcp_protogen.runtime.core.errors import INTERNAL_ERROR, LocalError, McpError
from mcp_protogen.runtime.features.auth.errors import AuthorizationError
from mcp_protogen.runtime.toolkit.remotes import cause_of

_log: Final = getLogger("mcp_protogen.gateway")

MOST_FAILURES: Final = 5
"""The failures in a row that open a circuit."""

# The first and the longest time, in seconds, from a failure to the next attempt.
FIRST_PAUSE: Final = 30.0
LONGEST_PAUSE: Final = 300.0

# Timers may be early by that much.
_EARLY: Final = 0.001

# What a proxy answers in place of a server that it cannot reach, or that takes too long (RFC 9110,
# section 15.6).
_OF_PROXIES: Final = frozenset({502, 503})
_TOO_LONG: Final = 504

_Kinds: TypeAlias = tuple[type[BaseException], ...]
_Origin: TypeAlias = Callable[[BaseException], BaseException | None]
OPENING: Final[_Kinds] = (Disconnected, TimeoutError)
SENDING: Final[_Kinds] = (Unsent,)
_NO_ANSWER: Final[_Kinds] = (
    *(Disconnected, TimeoutError, LocalError, CancelledError),
    # One user's token could not be obtained.
    AuthorizationError,
)


class Circuit:
    """The failures to connect to one server. Any answer of the server closes it."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._failures = 0
        self._pause = self._until = 0.0
        self._is_probed = False

    @property
    def is_open(self) -> bool:
        """Return whether the server counts as gone, also while it is tried again."""
        return self._pause > 0

    @property
    def time_left(self) -> float:
        """The seconds until the server may be tried again."""
        return max(0.0, self._until - get_running_loop().time()) if self.is_open else 0.0

    @contextmanager
    def attempt(self, failures: _Kinds, origin: _Origin = cause_of) -> Generator[None, None, None]:
        """Note whether the server is reached; raise `McpError` if it must not be tried now.

        `origin` returns why an attempt has failed by its error.
        """
        is_probe = self.is_open
        if is_probe and (self._is_probed or self.time_left > _EARLY):
            raise self.refusal()
        self._is_probed |= is_probe
        try:
            yield
        except BaseException as error:
            reached = is_reached(origin(error), failures)
            if reached:
                self._note_answer()
            elif reached is False:
                self._note_failure(is_probe)
            raise
        else:
            self._note_answer()
        finally:
            self._is_probed &= not is_probe

    def refusal(self) -> McpError:
        """Return the answer to a request in place of the server."""
        when = f"in {self.time_left:.0f} s" if self.time_left else "just now"
        text = f"The server of {self._server} cannot be reached, and is tried again {when}"
        return McpError(INTERNAL_ERROR, text, {"server": self._server, "reason": "open"})

    def _note_failure(self, is_probe: bool) -> None:
        self._failures += 1
        # Others may have begun before it opened.
        if is_probe or (self._failures >= MOST_FAILURES and not self.is_open):
            self._pause = min(2 * self._pause or FIRST_PAUSE, LONGEST_PAUSE)
            self._until = get_running_loop().time() + self._pause
            text = "%s: %d failures to connect in a row; it is not tried again for %g s"
            _log.warning(text, self._server, self._failures, self._pause)

    def _note_answer(self) -> None:
        if self.is_open:
            _log.warning("%s: it can be reached again", self._server)
        self._failures, self._pause = 0, 0.0


def is_reached(error: BaseException | None, failures: _Kinds) -> bool | None:
    """Return whether a server was reached, by why an attempt has failed; None if that is unclear.

    `failures` are those of an attempt that cannot reach it.
    """
    if getattr(error, "status", None) == _TOO_LONG:
        error = TimeoutError()
    is_failure = isinstance(error, failures) and not isinstance(error, RevisionLost)
    if is_failure or getattr(error, "status", None) in _OF_PROXIES:
        return False
    return None if isinstance(error, _NO_ANSWER) else True

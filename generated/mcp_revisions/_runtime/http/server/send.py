"""Sending to one client, who counts as gone when it takes in nothing for a time."""

from asyncio import timeout

from ...core.throttle import Throttle
from .asgi import Message, Send
from .steps import has_steps, resumed


class ResponseSender:
    """The `send` of ASGI with a time limit; when it has passed, all further messages are lost."""

    __slots__ = ("_log", "_seconds", "_send", "closed", "stuck")

    def __init__(self, send: Send, seconds: float, log: Throttle) -> None:
        self._send = send
        self._seconds = seconds
        self._log = log
        self.closed = False
        """Whether all further messages are lost."""
        self.stuck = False
        """Whether the client is still there, and does not read."""

    async def __call__(self, message: Message) -> None:
        """Send one message of ASGI."""
        if self.closed:
            return
        try:
            work = self._send(message)
            if has_steps(work):
                try:
                    waiting = work.send(None)
                except StopIteration:
                    return
                work = resumed(work, waiting)
            async with timeout(self._seconds):
                await work
        except TimeoutError:
            self._log.info("a client does not read")
            self.stuck = self.closed = True
        except (OSError, RuntimeError) as error:
            # uvloop says in a RuntimeError that the connection is closed already.
            self._log.info("a client has gone: %s", error)
            self.closed = True

"""Calls of decorated functions, with the arguments of the client and the request context."""

from asyncio import to_thread
from collections.abc import Callable, Mapping
from inspect import isawaitable
from typing import Any

from .signatures import Signature, named

Function = Callable[..., Any]


class Invocation:
    """The way in which one function is called."""

    __slots__ = ("_sessions", "_thread")

    def __init__(self, signature: Signature, *, thread: bool) -> None:
        self._sessions = signature.sessions
        self._thread = thread

    async def __call__(self, function: Function, session: Any, given: Mapping[str, Any]) -> Any:
        """Call the function, and return its result."""
        if self._sessions:
            given = {**given, **dict.fromkeys(self._sessions, session)}
        if self._thread:
            returned = await to_thread(_called, function, given)
        else:
            returned = function(**given)
        return await returned if isawaitable(returned) else returned


def _called(function: Function, given: Mapping[str, Any]) -> Any:
    """Call a plain function in a thread, and return its result."""
    try:
        return function(**given)
    except StopIteration as error:
        # A future cannot hold StopIteration: whoever waits for the thread would never wake up.
        raise RuntimeError(f"{named(function)} raised StopIteration") from error

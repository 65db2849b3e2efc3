"""Calling the functions that are marked: with what the client filled in, and the session."""

from asyncio import to_thread
from collections.abc import Callable, Mapping
from inspect import isawaitable
from typing import Any

from .signatures import Signature, named

Function = Callable[..., Any]


class Caller:
    """How one function is called."""

    __slots__ = ("_sessions", "_thread")

    def __init__(self, signature: Signature, *, thread: bool) -> None:
        self._sessions = signature.sessions
        self._thread = thread

    async def __call__(self, function: Function, session: Any, given: Mapping[str, Any]) -> Any:
        """What the function returns, once it has."""
        if self._sessions:
            given = {**given, **dict.fromkeys(self._sessions, session)}
        if self._thread:
            returned = await to_thread(_called, function, given)
        else:
            returned = function(**given)
        return await returned if isawaitable(returned) else returned


def _called(function: Function, given: Mapping[str, Any]) -> Any:
    """What a function returns in a thread."""
    try:
        return function(**given)
    except StopIteration as error:
        # No future can hold it: whoever waits for the thread would wait for ever.
        raise RuntimeError(f"{named(function)} raised StopIteration") from error

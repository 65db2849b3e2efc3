"""What a peer sent in place of answers, for the errors of requests that waited for them."""

from collections.abc import Collection
from typing import Final, NamedTuple

from .errors import RequestId
from .spec import Role

EXPECTED: Final = "where messages are expected"
"""In the text of each error that quotes what came in place of messages."""
MEANWHILE: Final = "; meanwhile the "
"""In the text of each error that tells of answers which fit no request."""
_MOST: Final = 3
# In bytes of a line, and in characters of the text of an error.
_LONGEST_LINE: Final = 80
_LONGEST_TEXT: Final = 200


class Strays(NamedTuple):
    """The first lines on a connection that are not messages, and the latest answers to nothing."""

    peer: Role = "server"
    lines: tuple[bytes, ...] = ()
    answers: tuple[tuple[str, frozenset[RequestId]], ...] = ()
    """What came in words, with the requests that were open then."""

    def with_line(self, line: bytes) -> "Strays":
        if len(self.lines) == _MOST:
            return self
        return self._replace(lines=(*self.lines, line.strip()[:_LONGEST_LINE]))

    def with_answer(self, id: RequestId | None, text: str, open: Collection[RequestId]) -> "Strays":
        """Add an answer to `id`, which is not among the open requests, or to no id."""
        if not open:
            return self
        answer = _in_words(id, text, open), frozenset(open)
        return self._replace(answers=(*self.answers[1 - _MOST :], answer))

    @property
    def latest(self) -> RequestId | None:
        """The newest request that was open when the latest answer came."""
        ids = self.answers[-1][1] if self.answers else frozenset[RequestId]()
        return max(ids, key=lambda id: id if isinstance(id, int) else 0, default=None)

    def explain(self, error: str, id: RequestId | None = None) -> str:
        """Return the text of an error with the lines, and with what came while `id` was open."""
        answers = [text for text, open in self.answers if id in open]
        if answers:
            error = f"{error}{MEANWHILE}{self.peer} {', and '.join(answers)}"
        if not self.lines:
            return error
        quoted = ", ".join(repr(line.decode("utf-8", "replace")) for line in self.lines)
        framed = any(map(is_frame, self.lines))
        why = " (Content-Length frames, as in LSP; here a message is one line)" if framed else ""
        return f"the {self.peer} wrote {quoted} {EXPECTED}{why}; {error}"


NO_STRAYS: Final = Strays()


def is_frame(line: bytes) -> bool:
    """Return whether a line begins a message as in the Language Server Protocol."""
    return line.strip().lower().startswith(b"content-length:")


def _in_words(id: RequestId | None, text: str, open: Collection[RequestId]) -> str:
    shown = f": {text[:_LONGEST_TEXT]!r}" if text else ""
    if id is None:
        return f"sent an answer without an id{shown}"
    others = ", ".join(repr(other) for other in sorted(open, key=str)[:_MOST])
    verb = "is" if len(open) == 1 else "are"
    return f"answered a request with the id {id!r:.60}, which is not open ({others} {verb}){shown}"

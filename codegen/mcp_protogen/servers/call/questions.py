"""Questions of servers during a call: forms, pages to visit, texts of a model, folders.

The user answers at a terminal. Without one, the given answers fill in forms.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol, TypeVar
from urllib.parse import urlsplit

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import did_you_mean
from mcp_protogen.runtime.core.errors import McpError
from mcp_protogen.servers.call.connections import (
    ELICIT,
    JSON,
    ROOTS,
    SAMPLE,
    Abilities,
    Answerer,
    Client,
    Hearer,
)
from mcp_protogen.servers.call.forms import LEFT_OUT, Field, fields

_Result = TypeVar("_Result")

ACCEPTED, DECLINED, CANCELLED = ("accept", "decline", "cancel")
_WORDS: Final[Mapping[str, str]] = {"!decline": DECLINED, "!cancel": CANCELLED}
_NOTHING: Final[Mapping[str, Hearer]] = {}
_SAMPLING: Final = "sampling"
_REJECTED: Final = -1
"""The code of the specification's example of a user who refuses a sampling request."""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_NAME: Final = "person-at-terminal"
"""The model name for text that the user typed in place of a model."""
_UNSAFE: Final = (
    "The server wants to open a page. mcp-gen has refused: it opens only https addresses with a"
    " host and without a user name, and addresses of this machine."
)


class UserTerminal(Protocol):
    """The user at a terminal."""

    def tell(self, text: str) -> None:
        """Show a text."""

    async def read_line(self, prompt: str) -> str | None:
        """Ask for a line; None at the end of input."""


class _GivenUp(Exception):
    """The user declines to answer, or cancels; `action` says which."""

    def __init__(self, action: str) -> None:
        super().__init__(action)
        self.action = action


@dataclass(slots=True, kw_only=True)
class Questions:
    """The answers to servers' questions; `user` is None without a terminal.

    `given` are answers to fields of forms by name, and of a model under the name `sampling`.
    `elicits` declares forms and pages even if nothing can answer them. `waiting` surrounds the time
    that the user takes. `open_page` opens a page of the web, and returns whether it could.
    `lacks_answers` is true after a question that was refused because `given` did not answer it.
    """

    user: UserTerminal | None
    tell: Callable[[str], None]
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    roots: Sequence[Path] = ()
    samples: bool = False
    elicits: bool = False
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    open_page: Callable[[str], bool] = field(default_factory=lambda: _open_page)
    lacks_answers: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _fields: set[str] = field(default_factory=set[str])

    def abilities(self, hears: Mapping[str, Hearer] = _NOTHING) -> Abilities:
        """Return the abilities that a client has with these answers."""
        answers: dict[str, Answerer] = {}
        if self.user is not None or self.elicits or self.given.keys() - {_SAMPLING}:
            answers[ELICIT] = self.elicit
        if self.roots:
            answers[ROOTS] = self.list_roots
        if self.samples:
            answers[SAMPLE] = self.sample
        pages = self.user is not None or self.elicits
        return Abilities(answers=answers, hears=hears, pages=pages)

    def tell_of_unused(
        self, work: Callable[[Client], Awaitable[_Result]]
    ) -> Callable[[Client], Awaitable[_Result]]:
        """Return `work` that, at its end, reports given answers that no form asked for."""

        async def run(client: Client) -> _Result:
            try:
                return await work(client)
            finally:
                for name in self.given:
                    if name not in self._fields:
                        hint = did_you_mean(name, self._fields, "") or "the server asked nothing"
                        self.tell(f"--answer {name}: no question has such a field ({hint})")

        return run

    async def elicit(self, params: JSON) -> JSON:
        """Return the result of `elicitation/create`."""
        async with self._lock:
            with self.waiting():
                try:
                    if "url" in params:
                        return await self._visit_page(params)
                    content = await self._fill_form(params)
                except _GivenUp as given_up:
                    return {"action": given_up.action}
        return {"action": ACCEPTED, "content": content}

    async def list_roots(self, params: JSON) -> JSON:
        """Return the result of `roots/list`."""
        found = [folder.resolve() for folder in self.roots]
        return {
            "roots": [
                {"uri": folder.as_uri(), "name": folder.name or str(folder)} for folder in found
            ]
        }

    async def sample(self, params: JSON) -> JSON:
        """Return the result of `sampling/createMessage`: the given text, or what the user types.

        Raise `McpError` without either (2025-11-25, client/sampling, "Error Handling").
        """
        self._fields.add(_SAMPLING)
        text = self.given.get(_SAMPLING)
        if text is None and self.user is None:
            self.lacks_answers = True
            self.tell(
                "the server asked a model for a text, and was refused: give --answer"
                f" {_SAMPLING}=TEXT, or run it in a terminal"
            )
            raise McpError(_REJECTED, "The user has rejected this")
        if text is None:
            text = await self._write_text(params)
        return {
            "role": "assistant",
            "content": {"type": "text", "text": text or ""},
            "model": _NAME,
        }

    async def _write_text(self, params: JSON) -> str | None:
        assert self.user is not None
        async with self._lock:
            with self.waiting():
                self.user.tell("The server asks a model for a text. You write it:")
                if system := params.get("systemPrompt"):
                    self.user.tell(f"  system: {system}")
                for message in params.get("messages", ()):
                    self.user.tell(
                        f"  {message.get('role')}: {_content_text(message.get('content'))}"
                    )
                return await self.user.read_line("your text: ")

    # Forms.

    async def _fill_form(self, params: JSON) -> dict[str, Any]:
        schema = params.get("requestedSchema")
        listed = fields(schema if is_object(schema) else {})
        content, refused = self._read_given(listed)
        left = [form_field for form_field in listed if form_field.name not in content]
        if self.user is None:
            reasons = [*refused, *_missing_answers(left)]
            if reasons:
                self._cancel(params, "; ".join(reasons))
            content |= {
                form_field.name: form_field.default
                for form_field in left
                if form_field.default is not LEFT_OUT
            }
            return content
        for reason in refused:
            self.user.tell(reason)
        self.user.tell(f"The server asks: {params.get('message', '')}")
        if left:
            self.user.tell("(type !decline to refuse, or !cancel to end without an answer)")
        for form_field in left:
            value = await self._ask_field(form_field)
            if value is not LEFT_OUT:
                content[form_field.name] = value
        if not left and await self._line("Answer yes? [Y/n]: ") not in ("", "y", "yes"):
            raise _GivenUp(DECLINED)
        return content

    def _cancel(self, params: JSON, reason: str) -> NoReturn:
        message = str(params.get("message", ""))
        self.tell(f"the server's question {message!r} was cancelled: {reason}")
        self.lacks_answers = True
        raise _GivenUp(CANCELLED)

    def _read_given(self, listed: Iterable[Field]) -> tuple[dict[str, Any], list[str]]:
        """Return the given values that fit their fields, and the reasons why others do not."""
        found: dict[str, Any] = {}
        refused: list[str] = []
        for form_field in listed:
            self._fields.add(form_field.name)
            if form_field.name in self.given:
                try:
                    value = form_field.read(self.given[form_field.name])
                except ValueError as error:
                    refused.append(f"--answer {form_field.name}: {error}")
                    continue
                if value is not LEFT_OUT:
                    found[form_field.name] = value
        return found, refused

    async def _ask_field(self, form_field: Field) -> Any:
        assert self.user is not None
        for line in form_field.describe():
            self.user.tell(line)
        while True:
            answer = await self._line(form_field.prompt())
            try:
                return form_field.read(answer)
            except ValueError as error:
                self.user.tell(f"  {error}")

    async def _line(self, prompt: str) -> str:
        assert self.user is not None
        answer = await self.user.read_line(prompt)
        word = "!cancel" if answer is None else answer.strip()
        if word in _WORDS:
            raise _GivenUp(_WORDS[word])
        return word

    # Pages.

    async def visit(self, params: JSON) -> bool:
        """Send the user to a page that a server requires; return whether they went."""
        async with self._lock:
            with self.waiting():
                try:
                    return bool(await self._visit_page(params))
                except _GivenUp:
                    return False

    async def _visit_page(self, params: JSON) -> JSON:
        if self.user is None:
            self._cancel(params, "it wants to open a page, so run it in a terminal")
        url = str(params["url"])
        host = _safe_host(url)
        if host is None:
            self.user.tell(_UNSAFE)
            raise _GivenUp(DECLINED)
        self.user.tell(f"The server asks: {params.get('message', '')}")
        self.user.tell(f"It wants to open a page at {host}:\n  {url}")
        answer = await self._line("Open it in the browser? [y/N]: ")
        if answer.lower() not in ("y", "yes"):
            raise _GivenUp(DECLINED)
        if not await asyncio.to_thread(self.open_page, url):
            self.user.tell("No browser was found. Open the page yourself.")
        return {"action": ACCEPTED}


def _missing_answers(left: Iterable[Field]) -> Iterator[str]:
    """Yield the options to give for fields without an answer."""
    needed = [field.name for field in left if field.required and field.default is LEFT_OUT]
    if needed:
        yield f"give {' '.join(f'--answer {name}=…' for name in needed)}"


def _open_page(url: str) -> bool:
    """Open a page in the browser of the desktop; return whether there is one."""
    from mcp_protogen.servers.connect.authorization import browser

    found = browser()
    return found is not None and found.open(url)


def _safe_host(url: str) -> str | None:
    """Return the host of a page that may be opened: of https, or of http on this machine.

    A name in other scripts is shown as ASCII (2025-11-25, client/elicitation, "Safe URL
    Handling").
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
    except ValueError:  # UnicodeError, too
        return None
    safe = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    return host if host and safe and parts.username is None else None


def _content_text(content: object) -> str:
    parts: list[Any] = content if is_array(content) else [content]
    return " ".join(
        str(part.get("text", f"[{part.get('type')}]")) for part in parts if is_object(part)
    )

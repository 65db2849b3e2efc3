"""A proxy between a client and a server over HTTP that records traffic and can break a stream.

It knows just enough of HTTP/1.1 to find the heads of requests and responses: bodies are JSON, in
which no line begins like a head.
"""

import json
import re
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from support.json_types import Json
from support.relaying import Relay, Watch

_REQUEST: Final = re.compile(rb"(POST|GET|DELETE) (\S+) HTTP/1\.1\r\n((?:[^\r\n]+\r\n)*)\r\n")
_RESPONSE: Final = re.compile(rb"HTTP/1\.1 (\d{3})[^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n")

# In these messages, only the method is written so.
_METHOD: Final = re.compile(rb'"method":\s*"([^"]+)"')


class Exchange(NamedTuple):
    verb: str
    path: str
    asked: dict[str, str]
    body: bytes
    status: int | None
    """None if the connection ended before."""
    answered: dict[str, str]
    answer: bytes

    @property
    def message(self) -> Json:
        return json.loads(self.body)

    @property
    def method(self) -> str | None:
        """Return the method of the posted message, if it has one."""
        found = _METHOD.search(self.body)
        return None if found is None else found[1].decode()


@dataclass
class _Talk:
    asked: bytearray = field(default_factory=bytearray)
    answered: bytearray = field(default_factory=bytearray)

    def exchanges(self) -> list[Exchange]:
        requests = _parts(_REQUEST, self.asked)
        responses = _parts(_RESPONSE, self.answered)
        found: list[Exchange] = []
        for number, (head, body) in enumerate(requests):
            verb, path, lines = head.groups()
            status, fields, answer = None, {}, b""
            if number < len(responses):
                first, answer = responses[number]
                status, fields = int(first[1]), _fields(first[2])
            found.append(
                Exchange(verb.decode(), path.decode(), _fields(lines), body, status, fields, answer)
            )
        return found


def _parts(head: re.Pattern[bytes], data: bytearray) -> list[tuple[re.Match[bytes], bytes]]:
    heads = list(head.finditer(bytes(data)))
    ends = [match.start() for match in heads[1:]] + [len(data)]
    return [
        (match, bytes(data[match.end() : end])) for match, end in zip(heads, ends, strict=False)
    ]


def _fields(lines: bytes) -> dict[str, str]:
    pairs = (line.partition(b":") for line in lines.splitlines())
    return {name.decode().lower(): value.strip().decode() for name, _, value in pairs}


class Wire(Relay):
    """The proxy; `cut_after` is the text at which it first breaks a connection."""

    def __init__(self, server_port: int, cut_after: bytes | None) -> None:
        super().__init__(server_port)
        self.cuts = 0
        self._cut_after = cut_after
        self._talks: list[_Talk] = []

    def watch(self) -> Watch:
        talk = _Talk()
        self._talks.append(talk)

        async def note(from_server: bool, data: bytes) -> bool:
            seen, end = (talk.answered if from_server else talk.asked), self._cut_after or b""
            start = max(0, len(seen) - len(end))
            seen.extend(data)
            cut = bool(from_server and end and not self.cuts and end in seen[start:])
            self.cuts += cut
            return not cut

        return note

    @property
    def exchanges(self) -> list[Exchange]:
        return [exchange for talk in self._talks for exchange in talk.exchanges()]

    def posts_of(self, method: str) -> list[Exchange]:
        return [exchange for exchange in self.exchanges if exchange.method == method]

    def verbs(self, verb: str) -> list[Exchange]:
        return [exchange for exchange in self.exchanges if exchange.verb == verb]

    def versions(self) -> set[str | None]:
        """Return the revisions in header fields, except those of `initialize`."""
        openings = self.posts_of("initialize")
        return {
            exchange.asked.get("mcp-protocol-version")
            for exchange in self.exchanges
            if exchange not in openings
        }


def wire_to(port: int, *, cut_after: bytes | None = None) -> AbstractAsyncContextManager[Wire]:
    """Run a proxy to a local port."""
    return Wire(port, cut_after).running()

"""HTTP requests that no client sends.

Nothing is sent to another origin than that of the user's URL.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.methods import headers_in, rules
from mcp_protogen.pipeline.derive.types import Context
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.ir import HeaderFieldIR
from mcp_protogen.runtime.core.spec import HeaderField, RequestSpec, Rules
from mcp_protogen.runtime.features.auth.challenge import token_param
from mcp_protogen.runtime.http import headers as fields
from mcp_protogen.runtime.http.client.http_client import URL, HttpReply, HttpWire
from mcp_protogen.runtime.http.client.outgoing import Message, ProtocolState
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.servers.connect.server_cards import published_documents
from mcp_protogen.servers.inspect.http_probes import METADATA, session_id
from mcp_protogen.servers.inspect.intake import StepIntake
from mcp_protogen.servers.inspect.messages import protocol_of
from mcp_protogen.servers.inspect.revision_facts import is_inspected
from mcp_protogen.servers.inspect.steps import ProbeStep
from mcp_protogen.servers.inspect.stream_transport import encode
from mcp_protogen.servers.inspect.transcript import Transcript

_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


@cache
def table(revision: str) -> MethodTable:
    """Return the header fields that repeat parts of requests in a revision, as a table.

    Raise `KeyError` for an unknown one.
    """
    if not is_inspected(revision):
        raise KeyError(revision)
    source = sources.load(revision, GenerationOptions((revision,)))
    common = rules(Context(source.facts, source.descriptions, source.place)).headers
    return MethodTable(
        revision,
        requests={
            method: RequestSpec(
                method,
                senders=frozenset(),
                load_params=lambda: Any,
                headers=_header_fields(headers_in(about)),
            )
            for method, about in protocol_of(revision).methods.items()
        },
        notifications={},
        errors={},
        rules=Rules(headers=_header_fields(common)),
    )


def _header_fields(found: Iterable[HeaderFieldIR]) -> tuple[HeaderField, ...]:
    return tuple(HeaderField(field.header, field.path, field.policy) for field in found)


class _AnsweredError(Exception):
    """A stream brought the answer, and is not read on."""


class RawDoor:
    """A sender of unusual requests: any bytes, header fields, methods and addresses.

    The fields are those that the transport would send, changed as a step says.
    """

    def __init__(self, wire: HttpWire, transcript: Transcript, intake: StepIntake) -> None:
        self._wire = wire
        self._transcript = transcript
        self._intake = intake

    async def send(self, step: ProbeStep) -> None:
        """Send one request, and read its answer; raise `Disconnected` and `RemoteError`."""
        body = encode(step.messages[0]) if step.messages else None
        headers, url = self._fields(step), self._address(step.url)
        async with await self._wire.open(step.method, headers, body, url) as reply:
            if not reply.streams:
                await reply.read()
            elif step.messages or step.waits:
                await self._read_stream(reply, step)

    async def _read_stream(self, reply: HttpReply, step: ProbeStep) -> None:
        """Read until the server ends the stream, or the answer has come."""

        async def room() -> None:
            if step.waits and self._intake.is_complete:
                raise _AnsweredError

        with suppress(_AnsweredError):
            # During a wrong request, requests of the server get no answer.
            await reply.read_events(lambda event: [*self._intake.take(event.data.encode())], room)

    def _fields(self, step: ProbeStep) -> dict[str, str]:
        protocol = ProtocolState()
        protocol.table_of = table
        protocol.begin(self._transcript.negotiated, session_id(self._transcript))
        revision = self._transcript.revision if self._transcript.is_stateless else None
        if step.messages:
            message = step.messages[0] if is_object(step.messages[0]) else {}
            method, params = str(message.get("method", "")), message.get("params", {})
            sent = Message(b"", "request", method, params, revision=revision)
            usual = protocol.post_headers(sent)
        else:
            usual = {fields.PROTOCOL_VERSION: revision} if revision else protocol.session_headers
        changed = {**usual, **step.headers}
        return {name: value for name, value in changed.items() if value}

    def _address(self, url: str) -> URL | None:
        if not url:
            return None
        own = self._wire.url
        if (document := published_documents().get(url)) is not None:
            return self._wire.resolve(document.beside(str(own)))
        path = "" if url == METADATA[-1] else own.path.rstrip("/")
        usual = own.copy_with(path=_WELL_KNOWN + path, query=None)
        challenge = self._transcript.beginning.answered.get("www-authenticate", "")
        named = token_param([challenge], "resource_metadata")
        # A request to another origin would reveal the inspection, and a token.
        return (named and url == METADATA[0] and self._wire.resolve(named)) or usual

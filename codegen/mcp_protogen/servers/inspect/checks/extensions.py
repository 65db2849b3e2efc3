"""Checks of extensions: names, their kinds of results, use without a declaration."""

import re
from collections.abc import Iterator
from typing import Final

from mcp_protogen.runtime.core.errors import MISSING_CLIENT_CAPABILITY
from mcp_protogen.runtime.messages.envelope import CLIENT_CAPABILITIES
from mcp_protogen.servers.inspect.messages import protocol_of
from mcp_protogen.servers.inspect.rule_faults import Fault, code_of, fault, members
from mcp_protogen.servers.inspect.transcript import Transcript

_LABEL: Final = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_IDENTIFIER: Final = re.compile(
    rf"{_LABEL}(?:\.{_LABEL})*/(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
)
_KINDS: Final = ("complete", "input_required")


def names(transcript: Transcript) -> Iterator[Fault]:
    """Yield extensions with an invalid identifier."""
    for name in members(transcript.capabilities, "extensions"):
        if not _IDENTIFIER.fullmatch(name):
            message = f"{name!r:.80} is not a prefix of labels, a slash and a name"
            yield fault("extension-name", "extensions", message, transcript.beginning, got=name)


def kinds(transcript: Transcript) -> Iterator[Fault]:
    """Yield results of a kind that the client did not declare."""
    if not transcript.is_stateless or not transcript.is_spoken:
        return
    claims = protocol_of(transcript.revision).claims
    for exchange in transcript.exchanges:
        kind = (exchange.result or {}).get("resultType")
        if not isinstance(kind, str) or kind in _KINDS:
            continue
        _, extension = claims.get((exchange.rpc_method, kind), ("", ""))
        path = "params", "_meta", CLIENT_CAPABILITIES, "extensions"
        if extension not in members(exchange.request, *path):
            message = f"the client has declared no extension with the resultType {kind:.40}"
            yield fault("result-type", exchange.rpc_method, message, exchange)


def missing_extension(transcript: Transcript) -> Iterator[Fault]:
    """Yield the use of an extension that the client did not declare."""
    for exchange in transcript.exchanges:
        code = code_of(exchange)
        asked = exchange.probe.endswith(" without the extension") and exchange.received
        if asked and code != MISSING_CLIENT_CAPABILITY:
            what = "no error" if code is None else f"the error {code}"
            message = f"{what} in place of the error {MISSING_CLIENT_CAPABILITY}"
            yield fault("missing-extension-code", exchange.rpc_method, message, exchange)


CHECKS = (names, kinds, missing_extension)

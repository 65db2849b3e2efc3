"""Checks of a process: how it ends."""

from collections.abc import Iterator

from mcp_protogen.servers.inspect.rule_faults import Fault, fault
from mcp_protogen.servers.inspect.transcript import FLOOD, KILLED, Transcript


def ending(transcript: Transcript) -> Iterator[Fault]:
    """Yield a process that does not end when its input is closed."""
    for exchange in transcript.all("close"):
        if exchange.outcome == KILLED:
            message = "the process goes on after its input was closed, and had to be ended"
            yield fault("process-does-not-end", "stdin", message, exchange)


def floods(transcript: Transcript) -> Iterator[Fault]:
    """Yield output beyond the limit of an inspection."""
    for exchange in transcript.exchanges:
        if exchange.outcome == FLOOD:
            message = "the output of the server exceeds the limit of an inspection"
            yield fault("too-much", exchange.probe, message, exchange)


CHECKS = (ending, floods)

"""HTTP, from both ends: the servers under load, and the clients."""

from collections.abc import Iterator

from . import http_calling, http_scaling, http_serving
from .rows import Row

TOPIC = http_serving.TOPIC
ROUNDS = 7


def rows(rounds: int) -> Iterator[Row]:
    """Compare servers, then workers of one, then clients."""
    yield from http_serving.rows(rounds)
    yield from http_scaling.rows(rounds)
    yield from http_calling.rows(rounds)

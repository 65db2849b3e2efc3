"""Ports for servers in other processes."""

import random
import socket
from typing import Final

# Outside the system's own range. The port above each is a lock.
_PORTS: Final = range(20_000, 32_000, 2)

_claims: Final[list[socket.socket]] = []


def free_port() -> int:
    """Return a free port that other processes do not get until this one ends."""
    while True:
        port = random.choice(_PORTS)
        claim = socket.socket()
        try:
            claim.bind(("127.0.0.1", port + 1))
            with socket.socket() as one:
                one.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return port

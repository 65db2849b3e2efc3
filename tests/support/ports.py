"""Ports for servers that are started as processes."""

import random
import socket
from typing import Final

# The system gives none of these to anybody by itself. The one above each says whose it is.
_PORTS: Final = range(20_000, 32_000, 2)

_claims: Final[list[socket.socket]] = []


def free_port() -> int:
    """Return a port that nobody listens on, and that no other process gets here until this ends."""
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

"""Serves an application as all of them are served: one worker of uvicorn, at its fastest."""

import socket
from typing import Any

import uvicorn


def serve(application: Any) -> None:
    """Serve at any free port, whose number is printed, until the process is ended."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(
        application,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
        # Connections wait for their turn, and sessions for their next call.
        timeout_keep_alive=3600,
    )
    uvicorn.Server(config).run(sockets=[listening])

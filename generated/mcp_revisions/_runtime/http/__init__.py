"""Messages over HTTP: what both sides need, the client in `client`, the server beside it."""

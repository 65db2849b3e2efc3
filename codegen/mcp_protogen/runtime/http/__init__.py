"""Messages over HTTP: parts for both sides; the client in `client`, the server in `server`."""

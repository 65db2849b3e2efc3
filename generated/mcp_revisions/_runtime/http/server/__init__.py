"""The server over HTTP: an ASGI application."""

"""The server: base class, connections, and built-in answers."""

"""A server that passes on every request to another server, whatever revision each speaks."""

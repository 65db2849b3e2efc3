"""Typed clients of a server's tools, the contract they rest on, and what breaks it."""

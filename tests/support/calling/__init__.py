"""Servers to call, and people who answer questions by a script."""

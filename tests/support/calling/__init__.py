"""Servers to call, and users who answer by a script."""

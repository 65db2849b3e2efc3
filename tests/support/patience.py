"""The patience of tests with processes, also on a busy machine."""

from typing import Final

PATIENCE: Final = 120.0
"""Seconds; only a process that hangs takes so long."""

"""How long tests wait for processes, also on a machine that is busy with other work."""

from typing import Final

PATIENCE: Final = 120.0
"""Seconds; only a process that hangs takes so long."""

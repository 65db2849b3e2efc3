"""The revisions of a package. Imports nothing that would slow down the start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Literal


def load_generated(module: str) -> ModuleType:
    from importlib import import_module

    return import_module(module)


class Revision:
    """One revision of the protocol, and the module with its code."""

    __slots__ = ("era", "id", "module")

    era: Literal["handshake", "stateless"]

    def __init__(self, id: str, *, era: Literal["handshake", "stateless"], module: str) -> None:
        self.id = id
        self.era = era
        self.module = module

    def load(self) -> ModuleType:
        """Import the module of the revision."""
        return load_generated(self.module)

    def __repr__(self) -> str:
        return f"Revision({self.id!r}, era={self.era!r}, module={self.module!r})"

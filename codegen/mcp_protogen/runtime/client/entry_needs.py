"""Clients that see which tools they lack the capabilities for."""

from typing import Any, ClassVar

from ..core.json import JSONObject
from ..rules.entry_needs import EntryNeeds


class SeesNeeds:
    """A mixin of generated clients."""

    __mcp_entry_needs__: ClassVar[EntryNeeds]
    __mcp_runtime__: Any

    def missing_capabilities(self, tool: Any) -> JSONObject:
        """Return the capabilities that a listed tool needs and this client does not declare.

        The server refuses calls of a tool with any: hide it, or show it as disabled.
        """
        return self.__mcp_entry_needs__.missing(tool, self.__mcp_runtime__.declaration())

"""A language server that answers a hover: a short path, for comparison."""

from importlib import import_module
from typing import Any

# In the environment of the SDKs only.
_types: Any = import_module("lsprotocol.types")
_LanguageServer: Any = import_module("pygls.lsp.server").LanguageServer

server = _LanguageServer("echo", "1")


def hover(params: Any) -> Any:
    """Return the same text for every word."""
    return _types.Hover(contents="hello")


server.feature(_types.TEXT_DOCUMENT_HOVER)(hover)
server.start_io()

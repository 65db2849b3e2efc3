"""Capabilities of a small revision."""

from typing import Final

from mcp_protogen.runtime.core.spec import Capability

CLIENT_ELICITATION: Final = Capability("client", ("elicitation",))
CLIENT_ELICITATION_FORM: Final = Capability("client", ("elicitation", "form"), implied=True)
CLIENT_ELICITATION_URL: Final = Capability("client", ("elicitation", "url"))
CLIENT_SAMPLING: Final = Capability("client", ("sampling",))
CLIENT_SAMPLING_CONTEXT: Final = Capability("client", ("sampling", "context"))
CLIENT_SAMPLING_TOOLS: Final = Capability("client", ("sampling", "tools"))
SERVER_COMPLETIONS: Final = Capability("server", ("completions",))
SERVER_LOGGING: Final = Capability("server", ("logging",))
SERVER_RESOURCES: Final = Capability("server", ("resources",))
SERVER_TOOLS: Final = Capability("server", ("tools",))
SERVER_TOOLS_LIST_CHANGED: Final = Capability("server", ("tools", "listChanged"), flag=True)

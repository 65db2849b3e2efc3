"""Tasks of both kinds for clients: tool calls that are answered before they end."""

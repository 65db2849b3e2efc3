"""Tasks for clients, in both forms: tool calls that are answered before they end."""

"""Tasks as clients see them, in both forms: calls of tools that are answered before they end."""

"""User interfaces of tools: how servers offer them, and how hosts read them (SEP-1865)."""

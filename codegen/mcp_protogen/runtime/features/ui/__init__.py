"""User interfaces of tools: offered by servers, read by hosts (SEP-1865)."""

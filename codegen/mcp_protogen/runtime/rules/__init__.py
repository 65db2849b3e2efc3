"""The rules of the protocol, as tables."""

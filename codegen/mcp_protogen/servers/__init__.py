"""Servers that people name: connected to, called, inspected, bridged, and typed clients of them."""

"""Servers behind a gateway: their state, and the connections to them."""

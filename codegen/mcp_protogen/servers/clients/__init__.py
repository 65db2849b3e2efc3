"""Typed clients of servers, their contracts, and the changes that break them."""

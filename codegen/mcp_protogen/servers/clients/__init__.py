"""Typed clients of servers, the contracts they rest on, and what breaks them."""

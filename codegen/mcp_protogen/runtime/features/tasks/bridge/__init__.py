"""Calls of tools that are tasks, between a client and a server of different forms of them."""

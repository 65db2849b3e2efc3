"""Servers and clients whose tool calls may become tasks."""

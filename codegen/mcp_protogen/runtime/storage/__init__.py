"""Stored state of servers: the interfaces of an engine, one in memory, and stores of tasks."""

"""Requests of clients that are worked on as tasks."""

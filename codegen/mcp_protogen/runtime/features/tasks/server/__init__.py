"""Requests of clients that run as tasks."""

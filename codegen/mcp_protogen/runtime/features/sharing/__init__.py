"""Shared state of several workers: engines in Redis and PostgreSQL."""

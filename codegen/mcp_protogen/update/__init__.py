"""Staying in step with the specification: what has moved at its source, and what that means."""

"""Differences between two revisions, or between a revision and the types of an SDK, as values."""

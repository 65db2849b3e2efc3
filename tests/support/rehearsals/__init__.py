"""Proposals for the next revision, each made into a revision on a copy of this checkout."""

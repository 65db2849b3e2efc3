"""Drafts of the decisions that people make about a new revision."""

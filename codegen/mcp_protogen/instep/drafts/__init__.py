"""Drafts of what people have to decide about a new revision."""

"""Somebody's SDK beside a revision: what it lacks, what it has wrong, and what it does."""

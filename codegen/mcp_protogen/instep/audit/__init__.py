"""The comparison of an SDK with a revision: what is missing, what is wrong, and what it does."""

"""The comparison of an SDK with a revision: missing types, wrong types, and its behaviour."""

"""Translation tables between two revisions, made from their IR."""

"""Publication of generated files in a folder: the old state, the changes, all or nothing."""

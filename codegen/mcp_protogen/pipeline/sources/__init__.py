"""Sources of published schemas: files, folders, clones, and servers."""

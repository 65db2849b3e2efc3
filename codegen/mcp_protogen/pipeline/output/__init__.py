"""From generated files to a folder: what is there, what changes, all of it or nothing."""

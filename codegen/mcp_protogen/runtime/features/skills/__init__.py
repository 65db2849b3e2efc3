"""Skills: entries and files, folders that servers publish, and reading by clients."""

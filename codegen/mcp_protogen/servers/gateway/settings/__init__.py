"""The settings of a gateway, the names they give to items, and the lock beside the file."""

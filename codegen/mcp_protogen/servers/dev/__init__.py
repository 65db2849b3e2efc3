"""A server in development: it is started again after edits, while its clients stay connected."""

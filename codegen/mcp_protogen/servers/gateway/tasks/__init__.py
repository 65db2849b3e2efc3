"""Tasks of the servers behind a gateway, in both forms."""

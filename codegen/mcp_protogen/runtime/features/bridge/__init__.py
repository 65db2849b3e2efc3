"""A server that forwards all requests to another server, of any revision."""

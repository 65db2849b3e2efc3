"""Task calls between a client and a server with tasks of different kinds."""

"""Task calls between a client and a server with different forms of tasks."""

"""Cards of servers: public documents about a server, and where to reach it."""

"""The client of HTTP: a transport that posts each message and reads the answers."""

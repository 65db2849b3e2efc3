"""The HTTP client: a transport that posts messages and reads answers."""

"""OAuth 2.1 for both sides: how a client gets a token, and how a server checks one."""

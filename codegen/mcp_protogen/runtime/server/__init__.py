"""The server: its base class, its connections, and what it answers by itself."""

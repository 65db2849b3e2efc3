"""Connections of the commands to servers that users name, and recordings of their messages."""

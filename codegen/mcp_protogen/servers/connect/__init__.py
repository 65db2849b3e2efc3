"""Connections of the commands to servers that people name, and a record of what passes."""

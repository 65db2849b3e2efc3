"""Translation of messages from one revision to another."""

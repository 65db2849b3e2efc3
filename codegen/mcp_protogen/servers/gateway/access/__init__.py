"""Which clients may call which items, how often and with which tokens, and the log of it."""

"""Costs of the project beside others: generation, imports, messages, servers and clients."""

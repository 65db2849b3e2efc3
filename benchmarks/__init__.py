"""Costs of the project beside its peers: generation, imports, messages, servers and clients."""

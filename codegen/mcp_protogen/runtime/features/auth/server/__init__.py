"""The server's part: what verifies tokens and proofs."""

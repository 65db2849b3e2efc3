"""The server's part: verifiers of tokens and proofs."""

"""What operators see of a gateway: spans, metrics, readiness, and the last reload."""

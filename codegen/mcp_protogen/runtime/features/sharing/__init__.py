"""What several workers share: engines in Redis and PostgreSQL."""

"""Reports about a gateway and its servers: the plan, the check, and the lock."""

"""A gateway: many servers of any revision behind one endpoint, for clients of any revision."""

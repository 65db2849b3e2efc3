"""The client: its base class, negotiation, and what joins it to servers of other eras."""

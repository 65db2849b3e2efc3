"""The client: base class, negotiation, and adapters to servers of the other era."""

"""JSON-RPC messages: read once into typed values, and written."""

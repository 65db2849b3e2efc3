"""Gateways, and the servers behind them."""

"""Gateways in this process, and the servers behind them."""

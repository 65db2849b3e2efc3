"""Logins of users at the authorization servers of servers behind the gateway."""

"""The client's side of HTTP: a transport that posts each message and reads what comes back."""

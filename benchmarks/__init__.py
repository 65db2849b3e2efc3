"""What the project costs beside its peers: generating, importing, reading and writing messages."""

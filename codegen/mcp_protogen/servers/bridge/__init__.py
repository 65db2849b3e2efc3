"""A bridge as a process: between clients and a server, of any revisions, over stdio and HTTP."""

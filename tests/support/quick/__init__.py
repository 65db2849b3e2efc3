"""`make quick`: the tests and checks for the files of a change, within a minute."""

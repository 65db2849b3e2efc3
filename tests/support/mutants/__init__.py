"""`make mutants`: small changes of the code, and whether a test notices them."""

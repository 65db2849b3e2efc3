"""What tests of the site share: the site and its explorer, each made once."""

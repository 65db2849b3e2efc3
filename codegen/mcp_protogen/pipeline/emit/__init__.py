"""From the intermediate representation to the text of modules, verified and formatted."""

"""The guards: one module, one guard, and the file name is its id."""

"""Guards before anything has failed: the uses in a whole project that its source or a type checker tells of."""

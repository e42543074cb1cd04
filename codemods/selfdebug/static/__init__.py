"""Guards before anything has failed: what may be None by what the source says, and where it is used unguarded."""

"""Functions as tasks: their registry, their signatures, and the context of the running task."""

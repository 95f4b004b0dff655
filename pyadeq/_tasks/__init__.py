"""Functions as tasks: their registry, their signatures, and what they know of the task that they run."""

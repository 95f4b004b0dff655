"""The worker: it claims tasks, runs a handler for each, and settles what has ended."""

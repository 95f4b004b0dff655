"""The queue: calls, and what they answer."""

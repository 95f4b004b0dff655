"""Locks: calls, and what they answer."""

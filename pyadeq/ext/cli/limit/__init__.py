"""The commands of limits."""

"""The commands of locks."""

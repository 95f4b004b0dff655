"""The commands of changes, and the inbox of a reviewer."""

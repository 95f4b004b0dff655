"""The commands of those who run an installation."""

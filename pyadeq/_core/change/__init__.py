"""The answers of a change domain as models."""

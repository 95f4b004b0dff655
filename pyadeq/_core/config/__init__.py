"""Config: its calls, and feature flags."""

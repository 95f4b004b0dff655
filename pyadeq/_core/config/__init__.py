"""Config: answers, a copy that follows them, and feature flags."""

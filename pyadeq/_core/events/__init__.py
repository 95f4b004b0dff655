"""Events in groups: their bases, and answers as models."""

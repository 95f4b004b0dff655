"""What several parts of ext use."""

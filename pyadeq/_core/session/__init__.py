"""Sessions: ids and answers."""

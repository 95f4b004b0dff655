"""What all nouns share."""

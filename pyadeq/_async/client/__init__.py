"""The client: it connects, and gives out the nouns."""

"""What all nouns share: connections, and how calls are sent."""

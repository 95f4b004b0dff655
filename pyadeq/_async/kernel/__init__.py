"""What all nouns share: clients, and how calls are sent."""

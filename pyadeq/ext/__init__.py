"""What uses the public names alone: the command line and, later, servers and adapters."""

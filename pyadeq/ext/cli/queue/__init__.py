"""The commands of queues."""

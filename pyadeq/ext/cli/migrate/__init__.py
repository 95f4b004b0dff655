"""The commands that move data of other queues into pyadeq, and queues to other servers."""

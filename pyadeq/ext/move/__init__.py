"""Ways in: data of other queues and older layouts, and adapters for programs that know another interface."""

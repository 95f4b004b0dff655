"""What pyadeq does, as values: no I/O, no clock, no sleep. `_async` and `_sync` send what is built here."""

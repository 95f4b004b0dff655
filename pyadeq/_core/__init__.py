"""Pure functions that build calls as values and decode replies: no I/O, no clock, no sleep. `_async` and `_sync` send
what is built here.
"""

"""The code that does I/O: for asyncio, written by hand, and for threads, generated from that."""

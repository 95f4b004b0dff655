"""The rim that does I/O, written by hand for asyncio. `_sync` is generated from it."""

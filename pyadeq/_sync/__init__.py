# Generated from pyadeq/_async/__init__.py by pyadeq/_unasync.py; do not edit.
"""The rim that does I/O, written by hand for asyncio. `_sync` is generated from it."""

# Generated from pyadeq/_async/__init__.py by pyadeq/_unasync.py; do not edit.
"""The code that does I/O: for asyncio, written by hand, and for threads, generated from that."""

# Generated from pyadeq/_async/client/__init__.py by pyadeq/_unasync.py; do not edit.
"""The client: it connects, and gives out the nouns."""

# Generated from pyadeq/_async/kernel/__init__.py by pyadeq/_unasync.py; do not edit.
"""What all nouns share: connections, and how calls are sent."""

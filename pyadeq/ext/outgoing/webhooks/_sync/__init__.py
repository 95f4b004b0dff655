# Generated from pyadeq/ext/outgoing/webhooks/_async/__init__.py by pyadeq/_unasync.py; do not edit.
"""What operators do with endpoints, for asyncio; `_sync` is generated from it."""

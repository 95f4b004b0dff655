"""What operators do with endpoints, for asyncio; `_sync` is generated from it."""

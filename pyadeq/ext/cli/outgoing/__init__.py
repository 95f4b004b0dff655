"""The commands of webhooks and posts."""

"""The commands of the Lua scripts."""

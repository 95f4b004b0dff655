"""The commands of tasks, and of what workers do with single tasks in scripts."""

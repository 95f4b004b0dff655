"""Chaos runs, benchmarks and the demo."""

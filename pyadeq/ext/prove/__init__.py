"""What shows how it behaves: chaos runs and their judge, benchmarks, the demo."""

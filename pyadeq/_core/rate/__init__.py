"""The pure part of rates: how calls are built and answers are read."""

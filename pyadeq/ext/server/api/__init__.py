"""The paths below /v1: tables of the client's methods, and functions for what is more than a method."""

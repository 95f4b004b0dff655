"""`adeq demo`: real work or approvals on a private server, a killed process, and the proof that all is well."""

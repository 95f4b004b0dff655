"""`adeq demo`: real work on a private server, one worker killed on the way, and the proof that nothing was lost."""

"""Workers as processes of the command line, and the commands that control them."""

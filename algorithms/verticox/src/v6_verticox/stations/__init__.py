"""What a station does in each round; `partial` lists the remote functions."""

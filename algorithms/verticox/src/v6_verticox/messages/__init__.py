"""What travels: one request and one reply a round."""

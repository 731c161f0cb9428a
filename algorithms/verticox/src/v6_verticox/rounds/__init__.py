"""What central asks, round by round: the rounds before any arithmetic, the partial likelihood as a surface, folds in lockstep, the last round."""

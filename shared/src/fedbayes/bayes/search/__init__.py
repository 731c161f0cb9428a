"""Structure search over tables of counts: K2, greedy hill climbing and the scores of a family."""

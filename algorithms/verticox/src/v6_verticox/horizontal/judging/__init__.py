"""A model judged on whole records of different people: sums over stations, exact or with noise, of which central makes the measures."""

"""From a data matrix to a certified dictionary: precondition, solve, round, deflate."""

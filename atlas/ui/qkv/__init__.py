"""The Query · Key · Value page: the walk through one head, the laboratory of the divisor, pronouns."""

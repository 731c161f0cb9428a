"""Multi-party computation: rings, fixed point, masks, the sealed relay, secure sums and products of private
vectors.

Every protocol here assumes semi-honest parties that reach one another only through the aggregator, which
relays what they seal for each other. Nothing in this package knows vantage6 or touches a network: a function
takes a party's own values and keys and returns the message to send, or takes messages and returns the answer.
"""

"""Derives a run's status from its spec and records, as defined in docs/computed-values.md and docs/record.schema.json.

The package shares no code with the product, so that a mistake in the product is not repeated here.
"""

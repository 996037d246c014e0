"""Derives the status of a run from its spec and its records, as docs/figures.md and docs/record.schema.json define it.

The package shares no code with the product, so that a mistake in the product is not repeated here.
"""

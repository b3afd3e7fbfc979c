"""Dynamometer: a DynamoDB-compatible state engine that any AWS SDK talks to unchanged."""

__version__ = "0.1.0"

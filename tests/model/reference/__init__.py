"""A reference model of the data plane: small, slow and obvious, written from the service's documentation alone.

It shares no line with the engine. Where the documentation leaves an order open (scans, ties in an index), the model
learns it from one complete answer, checks that answer, and predicts every page, filter and charge from it.
"""

"""PartiQL: statements as text to a tree, and the service's words for what is not a statement.

Pure: no table, no store. What a statement means is the engine's business.
"""

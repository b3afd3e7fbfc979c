"""PartiQL on the engine: statements become the trees, actions and page requests of everything else.

literals    literal values and parameters
conditions  WHERE to a condition tree
changes     SET and REMOVE to an update tree
prepare     a statement without its table: checked, compiled, kept
keys        which items a WHERE names; which ranges of a key it can read
reads       pages of a SELECT over those ranges
writes      INSERT, UPDATE, DELETE and EXISTS as actions
"""

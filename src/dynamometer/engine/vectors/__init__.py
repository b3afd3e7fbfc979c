"""Vector indexes: a third kind of index, that finds the items whose vectors are nearest to a given one.

    definitions   what CreateTable and UpdateTable say of them, checked and made into records
    updates       VectorIndexUpdates
    codec         what a write may put under a vector attribute, and the entry that an index keeps of an item
    scores        distance functions; the nearest rows, with numpy or without
    cache         an index's vectors in memory, derived from its entries and kept up to date
    conditions    SearchConditionExpression

A search compares with every vector: what it finds is exact, where the service finds nearly all of the nearest.
"""

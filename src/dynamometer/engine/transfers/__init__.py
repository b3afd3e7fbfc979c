"""Tables to buckets and back: exports, imports and bulk puts.

    transfer.py      the record of one of them, and its names
    registry.py      all of them: found, listed, begun, resumed after a restart, forgotten
    window.py        what the change log says of a range of items between two moments, in bounded memory
    exporting.py     the job of an export
    export_lines.py  items and changes as the lines of its files
    input.py         the records of objects: decompressed, cut, and where one had got to
    loading.py       the job that imports and bulk puts share: records to items, a batch a commit
    importing.py     the job of an import
    bulk.py          the job of a bulk put

A job is a generator whose every step is a bounded piece of work. What it has done is in its record, committed together
with the items it wrote, so that a job which was killed goes on where its last commit was.
"""

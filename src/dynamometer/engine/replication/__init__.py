"""Global tables: replicas of a table in several regions that become equal.

    replicator    the chore: replicas that come, change and go; regions that are cut off
    links         what is to be sent from one replica to another
    forgetting    old deletions, old notes
    groups        who belongs to a global table, and the settings that its replicas share
    filling       a new replica gets the items of an old one
    applying      a change from another region: the last writer wins, and who lost is written down
    conflicts     the updates that were lost
    positions     how far each replica has come
    peers         regions that live on another server
    describing    what DescribeTable says of it all

Each replica is a table of its own, with a record of its own, in the world of its region. Each sends every other one the
changes that were made in itself; none passes on what it was sent.
"""

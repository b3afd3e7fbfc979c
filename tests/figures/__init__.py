"""The figures of two well-known texts on designing for DynamoDB, each a test by its id.

D: a course on DynamoDB design; S: a text on state and idempotency in serverless systems. Where a text and the service
differ, the service wins and the test says so.
"""

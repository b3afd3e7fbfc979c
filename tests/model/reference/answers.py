"""What a call may answer: a body, or a refusal whose text is one of a few."""

from __future__ import annotations

VALIDATION = "ValidationException"
CONDITION = "ConditionalCheckFailedException"


class Refused(Exception):
    """The call is refused with one of these texts; which one is open where a request breaks several rules at once."""

    def __init__(self, *texts: str, code: str = VALIDATION) -> None:
        super().__init__(*texts)
        self.texts = texts
        self.code = code


class ConditionFailed(Refused):
    """The condition did not hold; the item that failed it."""

    def __init__(self, item: dict | None) -> None:
        super().__init__("The conditional request failed", code=CONDITION)
        self.item = item


class Cancelled(Exception):
    """A transaction that was not applied: for each action the reasons that may be given."""

    def __init__(self, reasons: list[Refused | None]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


class Unknown(Exception):
    """The documentation does not say what happens: the call is not made."""

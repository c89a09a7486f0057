"""What flows through casewise: frozen records with an id, their parents' ids and their provenance."""

from casewise.records.arm import FULL, NO_CONTEXT, Arm, Transform
from casewise.records.base import Provenance, Record
from casewise.records.context import (
    GROUPS,
    PARAMETERS,
    Context,
    Recipient,
    Revision,
    Sender,
    ShownContext,
    StatedTexts,
    TransmissionPrinciple,
)
from casewise.records.elicitation import ELICITATIONS, SCALES, Elicitation, Scale
from casewise.records.item import CONDITIONS, Item, Query
from casewise.records.judgement import Judgement, Scored, Unscored, UnscoredReason
from casewise.records.parameters import Group, Parameter, ParameterSet, paper_parameters
from casewise.records.rating import Rating, Verdict
from casewise.records.reply import (
    GROUNDS,
    OUTCOMES,
    CollectedReply,
    Grade,
    GradeOutcome,
    Ground,
    Unanswered,
    Ungraded,
)
from casewise.records.short_repr import ShortRepr
from casewise.records.statement import Statement, Text, as_text
from casewise.records.taxonomy import Category, Taxonomy, sorry_bench

__all__ = [
    "CONDITIONS",
    "ELICITATIONS",
    "FULL",
    "GROUNDS",
    "GROUPS",
    "NO_CONTEXT",
    "OUTCOMES",
    "PARAMETERS",
    "SCALES",
    "Arm",
    "Category",
    "CollectedReply",
    "Context",
    "Elicitation",
    "Grade",
    "GradeOutcome",
    "Ground",
    "Group",
    "Item",
    "Judgement",
    "Parameter",
    "ParameterSet",
    "Provenance",
    "Query",
    "Rating",
    "Recipient",
    "Record",
    "Revision",
    "Scale",
    "Scored",
    "Sender",
    "ShortRepr",
    "ShownContext",
    "StatedTexts",
    "Statement",
    "Taxonomy",
    "Text",
    "Transform",
    "TransmissionPrinciple",
    "Unanswered",
    "Ungraded",
    "Unscored",
    "UnscoredReason",
    "Verdict",
    "as_text",
    "paper_parameters",
    "sorry_bench",
]

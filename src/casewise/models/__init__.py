"""What answers a prompt: the protocol, clients for remote and local models, and a fake."""

from casewise.models.fake import FakeModel
from casewise.models.http.endpoints import ENDPOINTS, Endpoint
from casewise.models.protocol import (
    Classified,
    Message,
    Model,
    Position,
    Rejected,
    Reply,
    ReplyOptions,
    TextClassifier,
    TokenLogprob,
    Usage,
    as_messages,
)

__all__ = [
    "ENDPOINTS",
    "Classified",
    "Endpoint",
    "FakeModel",
    "Message",
    "Model",
    "Position",
    "Rejected",
    "Reply",
    "ReplyOptions",
    "TextClassifier",
    "TokenLogprob",
    "Usage",
    "as_messages",
]

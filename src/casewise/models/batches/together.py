"""Together's batches: those of OpenAI, with another address for the upload."""

from __future__ import annotations

from typing import Any

from casewise.models.batches.openai import OpenAIBatches
from casewise.storage.batch_jobs import BatchJob


class TogetherBatches(OpenAIBatches):
    """Together: the upload has another address, and no mark is documented."""

    upload_to, purpose = "files/upload", "batch-api"

    def creation(self, job: BatchJob) -> dict[str, Any]:
        return {name: value for name, value in super().creation(job).items() if name != "metadata"}

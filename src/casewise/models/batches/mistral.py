"""Mistral's batches: those of OpenAI as jobs, each of which states the model."""

from __future__ import annotations

from typing import Any

from casewise.models.batches.openai import MARK, OpenAIBatches
from casewise.storage.batch_jobs import BatchJob


class MistralBatches(OpenAIBatches):
    """Mistral: jobs, which state the model."""

    batches = "batch/jobs"
    repeats_path = False

    def creation(self, job: BatchJob) -> dict[str, Any]:
        files = {"input_files": [job.file], "endpoint": f"/v1/{job.intended.path}", "model": job.intended.model}
        return {**files, "timeout_hours": 24, "metadata": {MARK: job.mark}}

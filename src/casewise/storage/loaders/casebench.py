"""CASE-Bench: 450 requests, each with a context meant to be safe and one meant to be unsafe, and the votes of 20 people."""

from __future__ import annotations

from dataclasses import replace

from casewise.storage.loaders.loader import Loader, github
from casewise.storage.published import read_published

REPOSITORY = "BriansIDP/CASEBench"
COMMIT = "135f221e0e3e4cdc9a7d17288fa6b54c8aa45d0a"

DATA, TEMPLATE = github(
    REPOSITORY,
    COMMIT,
    {
        "data/CASEBench_data.json": "49bc10879c5350061eb1239b4f14f1a756683ca39e7e2abfc85fba70f9faac0c",
        "scripts/template.py": "1b83b0e36a5e0f43c2443983069f58548b76f313d0a1d7624cf1e12ce3353dfe",
    },
)

PROMPTS = replace(TEMPLATE, name="prompts.py")
"""The wording that the paper's judges were asked in. It is read, never run: see `casewise.ask.prompts`."""

CASEBENCH = Loader(
    name="casebench",
    title="CASE-Bench (Sun et al., 2025)",
    size="450 requests in 900 contexts, 20 people each",
    judged="request",
    labels_by="people",
    licence="not stated",
    terms=(
        "CASE-Bench (Sun et al., 2025) builds on the queries of SORRY-Bench, whose owners grant access on request and "
        "for research. The texts are harmful by design, and its safe contexts can serve as jailbreak templates. Accept "
        "only if you have the right to use both, will use them to evaluate or improve safety, and will not pass them on."
    ),
    source=f"{REPOSITORY} @{COMMIT[:7]}",
    files=(DATA,),
    load=lambda files: read_published(files[DATA.name]),
    extra=(PROMPTS,),
)

"""A benchmark whose texts may not be given away."""

import json

from casewise import api


def gated_demo(folder):
    """The demo as a benchmark whose texts may not be given away."""
    api.export("demo", folder, to="folder")
    manifest = json.loads((folder / "benchmark.json").read_text(encoding="utf-8"))
    manifest["about"]["gated"] = True
    (folder / "benchmark.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder

"""A school: may a chatbot of the school answer these requests, and does it matter who asks? All ratings were made up.

    cd examples/school
    python school.py --out report

Thirty people, ten under each condition, said of sixteen requests whether the chatbot should answer: without a context, where a
teacher asks, and where a pupil asks. Each context is compared with none. A study of your own begins with `casewise study init`, which
writes a design that can be frozen; `casewise study report` analyses what it exports.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from casewise import api

HERE = Path(__file__).parent
COMPARED = ("no_context:teacher_asks", "no_context:pupil_asks")


def main() -> None:
    parser = argparse.ArgumentParser(description="Analyse the school's small study.")
    parser.add_argument("--out", type=Path, required=True, help="a folder for the page, tables and figures")
    out = parser.parse_args().out
    report = api.study_report(HERE / "ratings_synthetic.csv", contrasts=api.read_contrasts(COMPARED), margin=0.1)
    report.write(out)
    print(api.find_format("text").write(report.document.answer))


if __name__ == "__main__":
    main()

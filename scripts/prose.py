"""Reports how the documentation reads: `python scripts/prose.py [PAGE ...]`.

For each hand-written page: its words, the mean length of its sentences and the share over 30 words, sentences that begin with
a question word as their subject, and words that the glossary replaces. Without pages it also counts, for each room of the
program, the docstrings whose first sentence is such a clause. It is a report and fails nothing; CI prints it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GENERATED = {
    "coverage.md",
    "names-in-reports.md",
    "audit-findings.md",
    "study-toml.md",
    "endpoints.md",
    "exit-codes.md",
    "guard-profiles.md",
    "replies-read.md",
}
LONG = 30
COMMAND = re.compile(r"^\$ .*(?:\\\n.*)*", re.MULTILINE)
NOUN_CLAUSE = re.compile(r"(?:What|Whether|How|Whoever|Who)\b(?! was verified)[^?]*[.:]$")
REPLACED = {
    "hold against": "compare",
    "held against": "compare",
    "go on with": "resume",
    "gone on with": "resume",
    "under-refusal": "harm",
    "false positive": "over-refusal",
    "rater": "annotator",
    "campaign": "study",
    "gold": "label",
    "false safe": "harm",
    "reckon": "compute",
    "beside each other": "side by side",
}
"""What the glossary and the rules of language do not use, and the word in its place. A match may be right: read it."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a page's prose: no code, tables, headings, links' addresses or comments."""
    text = re.sub(r"```.*?```|<!--.*?-->|~~~.*?~~~", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^\s*(\||#|<|:::).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "\n\n", text, flags=re.MULTILINE)
    blocks = (" ".join(block.replace("**", "").split()) for block in re.split(r"\n\s*\n", text))
    return [one for block in blocks for one in re.split(r"(?<=[.?!])\s+(?=[A-Z`*\"“])", block) if words(one)]


def words(text: str) -> list[str]:
    """Return the words of a text; a span of code counts as one."""
    return re.findall(r"`[^`]*`|[\w’'-]*[A-Za-z0-9][\w’'%.,-]*", text)


def written(text: str) -> str:
    """Return a page without what its commands print."""
    text = re.sub(r"```text\n.*?```", "", text, flags=re.DOTALL)
    return re.sub(
        r"(?<=```console\n).*?(?=```)", lambda block: "\n".join(COMMAND.findall(block[0])), text, flags=re.DOTALL
    )


def row(page: Path) -> tuple[str, int, float, float, int, int]:
    """Return a page's name, words, mean sentence, share of long sentences, noun clauses and replaced words."""
    text = page.read_text(encoding="utf-8")
    lengths = [len(words(sentence)) for sentence in sentences(text)] or [0]
    return (
        str(page.relative_to(ROOT)),
        len(written(text).split()),
        sum(lengths) / len(lengths),
        sum(length > LONG for length in lengths) / len(lengths),
        sum(bool(NOUN_CLAUSE.match(sentence)) for sentence in sentences(text)),
        sum(text.lower().count(word) for word in REPLACED),
    )


def hand_written() -> list[Path]:
    """Return README and every page of the site that no script writes."""
    pages = (page for page in sorted((ROOT / "docs").rglob("*.md")) if "commands" not in page.parts)
    return [ROOT / "README.md", *(page for page in pages if page.name not in GENERATED)]


def clauses_by_room() -> dict[str, tuple[int, int]]:
    """Return the docstrings of each room of the program, and how many begin with a question word."""
    docstrings: Counter[str] = Counter()
    clauses: Counter[str] = Counter()
    for path in sorted((ROOT / "src" / "casewise").rglob("*.py")):
        room = path.relative_to(ROOT / "src" / "casewise").parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node)
                docstrings[room] += text is not None
                clauses[room] += text is not None and re.match(r"(?:What|Whether|How|Who|Whoever)\b", text) is not None
    return {room: (count, clauses[room]) for room, count in docstrings.items() if count}


def main() -> None:
    chosen = [Path(name).resolve() for name in sys.argv[1:]]
    rows = [row(page) for page in chosen or hand_written()]
    print(f"{'page':42} {'words':>6} {'mean':>5} {'>30':>5} {'What':>5} {'not':>4}")
    for name, count, mean, long, clauses, replaced in rows:
        print(f"{name:42} {count:6} {mean:5.1f} {long:5.0%} {clauses:5} {replaced:4}")
    print(f"{'in all':42} {sum(count for _, count, *_ in rows):6}")
    if not chosen:
        print(f"\n{'room':42} {'docstrings':>10} {'What':>5}")
        for room, (count, clauses) in clauses_by_room().items():
            print(f"{room:42} {count:10} {clauses:5}")
    for page in chosen:
        for sentence in sentences(page.read_text(encoding="utf-8")):
            if len(words(sentence)) > LONG or NOUN_CLAUSE.match(sentence):
                print(f"- {sentence}")
        found = {word: right for word, right in REPLACED.items() if word in page.read_text(encoding="utf-8").lower()}
        for word, right in found.items():
            print(f"- {word!r}: the glossary says {right!r}")


if __name__ == "__main__":
    main()

"""Tables of a report as LaTeX, in booktabs style."""

from __future__ import annotations

from collections.abc import Iterable

from casewise.reporting.document import Document, Table

__all__ = ["latex", "latex_table"]

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "−": r"$-$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "½": r"$\frac{1}{2}$",
    "κ": r"$\kappa$",
    "α": r"$\alpha$",
    "ρ": r"$\rho$",
}


def latex(document: Document) -> str:
    """Every table of `document`; needs `\\usepackage{booktabs}`. Notices come first, as comments."""
    notices = [f"% {' '.join(notice.split())}" for notice in document.notices]
    return "\n".join([*notices, *(latex_table(table) for table in document.tables())]) + "\n"


def latex_table(table: Table) -> str:
    """One table."""
    alignment = "".join("r" if numeric else "l" for numeric in table.numeric)
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{escaped(table.caption)}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            row(table.columns),
            r"\midrule",
            *(row(cells) for cells in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def row(cells: Iterable[str]) -> str:
    return " & ".join(escaped(cell) for cell in cells) + r" \\"


def escaped(text: str) -> str:
    """`text` with what LaTeX would read as commands made harmless."""
    return "".join(SPECIAL.get(character, character) for character in " ".join(text.split()))

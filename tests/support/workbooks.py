"""Workbooks of texts and numbers, as ECMA-376 describes them."""

import zipfile
from pathlib import Path
from string import ascii_uppercase
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"


class Xml(str):
    """The content of a cell as it stands in the file: attributes, `>`, and elements."""

    __slots__ = ()


def workbook(path, rows, *, sheet="Data", more=()):
    """Write a workbook with a sheet of rows and further sheets. A cell is a text, a number, None, or `Xml`."""

    def cell(place, value):
        if isinstance(value, Xml):
            return f'<c r="{place}"{value}</c>'
        if isinstance(value, str):
            return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return f'<c r="{place}"/>' if value is None else f'<c r="{place}"><v>{value}</v></c>'

    def body(table):
        cells = (
            [cell(f"{ascii_uppercase[n]}{at}", value) for n, value in enumerate(row)] for at, row in enumerate(table, 1)
        )
        return "".join(f'<row r="{at}">{"".join(row)}</row>' for at, row in enumerate(cells, 1))

    def link(number, kind, target):
        return f'<Relationship Id="r{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'

    sheets = dict(enumerate({sheet: rows, **dict(more)}.items(), 1))
    overrides = {"workbook.xml": f"{KIND}.sheet.main+xml"}
    overrides |= {f"worksheets/sheet{n}.xml": f"{KIND}.worksheet+xml" for n in sheets}
    kinds = "".join(f'<Override PartName="/xl/{name}" ContentType="{kind}"/>' for name, kind in overrides.items())
    relations = "application/vnd.openxmlformats-package.relationships+xml"
    links = "".join(link(n, "worksheet", f"worksheets/sheet{n}.xml") for n in sheets)
    names = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, (name, _) in sheets.items())
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType="{relations}"/>{kinds}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{link(1, "officeDocument", "xl/workbook.xml")}</Relationships>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{links}</Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{names}</sheets></workbook>',
    }
    for n, (_, table) in sheets.items():
        sheet_data = f"<sheetData>{body(table)}</sheetData>"
        parts[f"xl/worksheets/sheet{n}.xml"] = f'<worksheet xmlns="{MAIN}">{sheet_data}</worksheet>'
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return Path(path)

"""A heat map of where units died, as SVG: a square for each two tiles by two.

    arena replay export --events --csv MATCH.mra | python3 docs/heatmap.py > deaths.svg
    arena replay export --events --csv MATCH.mra | python3 docs/heatmap.py shot > shots.svg

Needs pandas. Any kind of event with a place can be drawn; several exports may follow each other.
"""

import sys

import pandas

KIND, SIDE = (sys.argv[1:] or ["death"])[0], 2
rows = pandas.read_csv(sys.stdin, low_memory=False)
rows = rows[rows.kind == KIND].astype({"x": float, "y": float}).dropna(subset=["x", "y"])
cells = (rows[["x", "y"]] // SIDE).value_counts()
print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-66 -66 132 132"><title>{len(rows)} x {KIND}</title>')
print('<rect x="-66" y="-66" width="132" height="132" fill="#1E2430"/>')
for (column, row), count in cells.items():
    heat = count / cells.max()
    place = f'x="{column * SIDE}" y="{-(row + 1) * SIDE}" width="{SIDE}" height="{SIDE}"'
    print(f'<rect {place} fill="#FF4D5E" fill-opacity="{0.15 + 0.85 * heat:.2f}"><title>{count}</title></rect>')
print("</svg>")

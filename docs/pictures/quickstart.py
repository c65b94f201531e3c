#!/usr/bin/env python3
"""Draws docs/pictures/quickstart.svg from the table in docs/quickstart.md."""
import pathlib
import re

here = pathlib.Path(__file__).resolve().parent
picture = here / "quickstart.svg"
left, right, top, bottom = 56, 604, 64, 324  # of the plot: steps 0 and 60, 100 % and 0 %


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def read_table():
    """Steps, and the rows (seed, percentages at these steps)."""
    lines = [line.strip() for line in (here.parent / "quickstart.md").read_text().splitlines() if line.startswith("|")]
    steps = [int(name.removeprefix("step")) for name in cells(lines[0])[1:-1] if name != "before"]
    rows = [(row[0], [float(re.search(r"[\d.]+", cell)[0]) for cell in row[1:-1]]) for row in map(cells, lines[2:])]
    return [0, *steps], rows


def x(step):
    return f"{left + (right - left) * step / 60:.1f}"


def y(percent):
    return f"{bottom - (bottom - top) * percent / 100:.1f}"


def draw():
    steps, rows = read_table()
    seeds, mean = [values for name, values in rows if name != "mean"], dict(rows)["mean"]
    svg = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 412" width="640" height="412" role="img"'
        ' aria-labelledby="title">',
        '<title id="title">Quickstart: per cent of 400 held-out 4x4 Sudoku puzzles solved, by training step</title>',
        "<style>",
        "  text { font: 13px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 12px; fill: #59636e }",
        "  .head { font-weight: 600; font-size: 15px } .end { text-anchor: end } .middle { text-anchor: middle }",
        "  .panel { fill: #ffffff; stroke: #d1d9e0 } .grid { stroke: #d1d9e0 }",
        "  .seed { fill: none; stroke: #0969da; opacity: .35 } circle { fill: #0969da; opacity: .6 }",
        "  .mean { fill: none; stroke: #0969da; stroke-width: 2.5 }",
        "  @media (prefers-color-scheme: dark) {",
        "    text { fill: #f0f6fc } .small { fill: #9198a1 } .panel { fill: #0d1117; stroke: #3d444d }",
        "    .grid { stroke: #3d444d } .seed, .mean { stroke: #4493f8 } circle { fill: #4493f8 }",
        "  }",
        "</style>",
        '<rect class="panel" x="0.5" y="0.5" width="639" height="411" rx="6"/>',
        '<text class="head" x="20" y="28">RLDF on 4x4 Sudoku: held-out puzzles solved</text>',
        '<text class="small" x="20" y="48">per cent of 400 puzzles, greedy decoding</text>',
    ]
    for percent in (0, 25, 50, 75, 100):
        svg.append(f'<path class="grid" d="M{left} {y(percent)}H{right}"/>')
        svg.append(f'<text class="small end" x="{left - 8}" y="{float(y(percent)) + 4:.1f}">{percent}</text>')
    for step in range(0, 61, 10):
        svg.append(f'<text class="small middle" x="{x(step)}" y="{bottom + 20}">{step}</text>')
    svg.append(f'<text class="small end" x="{right}" y="{bottom + 38}">training step</text>')
    for line, values in [("seed", one) for one in seeds] + [("mean", mean)]:
        points = " ".join(f"{x(step)},{y(value)}" for step, value in zip(steps, values))
        svg.append(f'<polyline class="{line}" points="{points}"/>')
    for values in seeds:
        svg += [f'<circle cx="{x(step)}" cy="{y(value)}" r="2.5"/>' for step, value in zip(steps, values)]
    svg.append(f'<text x="{float(x(0)) + 10}" y="{float(y(mean[0])) + 24:.1f}">before: {mean[0]} %</text>')
    svg.append(f'<text class="end" x="{right}" y="{float(y(mean[-1])) + 26:.1f}">mean of five seeds: {mean[-1]} %</text>')
    names = [name for name, _ in rows[:-1]]
    svg += [
        f'<text class="small" x="20" y="{bottom + 58}">Dots: seeds {names[0]} to {names[-1]}; thick line: their mean.</text>',
        f'<text class="small" x="20" y="{bottom + 74}">Standard error of one evaluation: 2.3 before, 1.3 after.'
        "</text>",
    ]
    return "\n".join(svg + ["</svg>"]) + "\n"


picture.write_text(draw())

#pragma once

// Looks and behaviour of the report.

namespace drift {

inline constexpr const char* kReportStyle = R"css(
:root { color-scheme: light dark; --page: #fafaf7; --card: #ffffff; --ink: #1d2530; --soft: #667080;
  --rule: #e4e6ea; --accent: #0d6d94; --s1: #c8711b; --s2: #2f8f66; --s3: #7d5fb0; --s4: #b8487a; --s5: #98a1ad; --s6: #8a7a12; --s7: #3f4fb5;
  --good: #1d7a4f; --bad: #b3432b; --k0: #e4f0f6; --k1: #c8e1ed; --k2: #a3cde1; --k3: #7bb6d2; --k4: #35839f;
  --k5: #22708f; --k6: #0f587a; --k7: #083e5a; --k-early: #123; --k-late: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --page: #13171c; --card: #1a2027; --ink: #e3e8ee; --soft: #93a0af; --rule: #2b333d; --accent: #5db6dc;
    --s1: #e8994a; --s2: #5cbd92; --s3: #a98fdd; --s4: #e07aa6; --s5: #75808e; --s6: #cdbb4a; --s7: #8d9bf0; --good: #63c596; --bad: #ee8a70;
    --k0: #1e313c; --k1: #244254; --k2: #29536b; --k3: #2f6683; --k4: #5aa5c6; --k5: #7fbfda; --k6: #a8d6e9;
    --k7: #d3ecf6; --k-early: #e3e8ee; --k-late: #0d1a22; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 2.5rem 1.5rem 4rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; }
pre, code, .tokens { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 1.15rem; margin: 3rem 0 0.9rem; padding-bottom: 0.35rem; border-bottom: 1px solid var(--rule); }
h2 small { font-weight: 400; font-size: 0.8rem; color: var(--soft); margin-left: 0.6rem; }
h3 { font-size: 0.95rem; margin: 0 0 0.5rem; }
h4 { font-size: 0.75rem; margin: 0 0 0.35rem; color: var(--soft); font-weight: 500; }
p { margin: 0.3rem 0; }
a { color: var(--accent); }
.lead { color: var(--soft); }
.live { color: var(--accent); }
.notes { margin-top: 1rem; font-size: 0.85rem; }
.hero { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 1.25rem; margin-top: 1.5rem; }
.card, .charts > figure, .samples > article { background: var(--card); border: 1px solid var(--rule);
  border-radius: 8px; padding: 1rem 1.1rem; margin: 0; }
header + .card { margin-top: 1.5rem; }
.result { font-size: 2.5rem; line-height: 1.15; font-weight: 300; letter-spacing: -0.02em; }
.result b { font-weight: 650; color: var(--accent); }
.result small { font-size: 1.1rem; color: var(--soft); letter-spacing: 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: 1rem; }
svg { display: block; width: 100%; height: auto; }
figcaption { display: flex; gap: 0.5rem; align-items: baseline; font-size: 0.9rem; margin-bottom: 0.5rem; }
figcaption b { font-weight: 600; }
figcaption small { color: var(--soft); }
figcaption output { margin-left: auto; color: var(--soft); font-size: 0.8rem; text-align: right; }
.grid { stroke: var(--rule); }
.axis { stroke: var(--soft); }
.mark { stroke: var(--bad); }
.alarms dt { color: var(--bad); font-size: 0.9rem; font-weight: 600; }
.alarms dd + dt { margin-top: 0.8rem; }
.alarms dl { display: block; }
.tick { fill: var(--soft); }
.cursor { stroke: var(--soft); stroke-dasharray: 2 3; }
.s0 { color: var(--accent); }
.s1 { color: var(--s1); }
.s2 { color: var(--s2); }
.s3 { color: var(--s3); }
.s4 { color: var(--s4); }
.s5 { color: var(--s5); }
.s6 { color: var(--s6); }
.s7 { color: var(--s7); }
.legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; color: var(--soft); font-size: 0.8rem;
  margin: 0.5rem 0 0; }
.legend i { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px; margin-right: 0.35em;
  background: currentColor; }
.legend span { overflow-wrap: anywhere; }
.legend [data-value]::after { content: " " attr(data-value); color: var(--ink); }
.legend i.dots { background: repeating-linear-gradient(90deg, currentColor 0 2px, transparent 2px 4px); }
.legend i.dash { background: repeating-linear-gradient(90deg, currentColor 0 3px, transparent 3px 5px); }
.legend i[class^=k] { margin-right: 0; border-radius: 0; background: var(--k); }
.legend u { text-decoration: none; }
table { border-collapse: collapse; font-size: 0.85rem; width: 100%; }
th { font-weight: 500; text-align: left; color: var(--soft); }
th, td { padding: 0.22rem 0.9rem 0.22rem 0; vertical-align: top; border-bottom: 1px solid var(--rule);
  overflow-wrap: anywhere; }
tr:last-child > * { border-bottom: 0; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.bar { width: 36%; }
td.bar i { display: block; height: 0.65em; margin-top: 0.45em; background: var(--accent); border-radius: 2px; }
.wide { overflow-x: auto; }
.wide :is(th, td) { overflow-wrap: normal; }
.card.wide :is(th, td) { white-space: nowrap; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 0.8rem 1.5rem; margin: 0;
  font-size: 0.9rem; }
dt { color: var(--soft); font-size: 0.8rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.whole { grid-column: 1 / -1; }
.samples { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 1rem;
  margin-top: 1rem; }
.samples h3 { display: flex; flex-wrap: wrap; gap: 0.2rem 0.9rem; font-weight: 400; font-size: 0.85rem;
  color: var(--soft); }
.verdict { font-weight: 600; }
.solved { color: var(--good); }
.failed { color: var(--bad); }
.pair { display: flex; flex-wrap: wrap; gap: 0.8rem 2rem; }
.pair > div { min-width: 0; max-width: 100%; }
pre { margin: 0; font-size: 0.95rem; line-height: 1.75; white-space: pre-wrap; overflow-wrap: anywhere; }
.tokens { font-size: 0.95rem; line-height: 1.75; white-space: pre-wrap; overflow-wrap: anywhere; }
.t { background: var(--k); color: var(--k-ink); border-radius: 3px; padding: 0.08em 0.22em; margin: 0 1px 0 0;
  box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.t sub { font-size: 0.6em; opacity: 0.8; margin-left: 0.15em; vertical-align: -0.2em; line-height: 0; }
.special { font-size: 0.8em; }
.never { border: 1px dashed var(--soft); color: var(--soft); }
.unsure { border-bottom: 2px solid var(--s1); }
.very { border-bottom-style: double; border-bottom-width: 4px; }
.k0, .k1, .k2, .k3 { --k-ink: var(--k-early); }
.k4, .k5, .k6, .k7 { --k-ink: var(--k-late); }
.k0 { --k: var(--k0); }
.k1 { --k: var(--k1); }
.k2 { --k: var(--k2); }
.k3 { --k: var(--k3); }
.k4 { --k: var(--k4); }
.k5 { --k: var(--k5); }
.k6 { --k: var(--k6); }
.k7 { --k: var(--k7); }
article h4:not(.pair h4) { margin-top: 1rem; }
footer { margin-top: 3rem; color: var(--soft); font-size: 0.8rem; }
@media (max-width: 44rem) {
  body { padding: 1.25rem 0.9rem 3rem; }
  .hero { grid-template-columns: minmax(0, 1fr); }
  .result { font-size: 2rem; }
  dl { grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); }
}
@media print {
  body { max-width: none; padding: 0; font-size: 11px; }
  .charts > figure, article, .card { break-inside: avoid; }
  h2 { break-after: avoid; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
)css";

// The values under the pointer; the page says everything without it. No less-than sign and no ampersand: the page is
// XML too.
inline constexpr const char* kReportScript = R"js(
for (const figure of document.querySelectorAll('figure[data-points]')) {
  const data = JSON.parse(figure.dataset.points), svg = figure.querySelector('svg');
  const cursor = svg.querySelector('.cursor'), output = figure.querySelector('output'), rest = output.textContent;
  const legend = figure.querySelectorAll('.legend span'), many = data.series.length > 3;
  const place = x => { cursor.setAttribute('x1', x); cursor.setAttribute('x2', x); };
  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    let nearest = 0;
    data.at.forEach((at, i) => { if (Math.abs(data.at[nearest] - x) > Math.abs(at - x)) nearest = i; });
    place(data.at[nearest]);
    const named = data.series.length > 1;
    const values = data.series.map(s => (named ? s.name + ' ' : '') + (s.y[nearest] ?? '-'));
    const at = (data.x_name ?? 'step') + ' ' + data.x[nearest];
    output.textContent = many ? at : at + ': ' + values.join(', ');
    if (many) data.series.forEach((s, i) => { legend[i].dataset.value = s.y[nearest] ?? '-'; });
  });
  svg.addEventListener('pointerleave', () => {
    place(-9);
    output.textContent = rest;
    legend.forEach(entry => { delete entry.dataset.value; });
  });
}
)js";

}  // namespace drift

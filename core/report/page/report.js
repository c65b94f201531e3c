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

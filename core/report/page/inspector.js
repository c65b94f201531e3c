for (const place of document.querySelectorAll('.inspector')) {
  const steps = Array.from(document.querySelectorAll('script.inspected'), one => JSON.parse(one.textContent));
  const state = { step: 0, group: 0, colour: 'treatment' };
  const colours = { treatment: 'what the loss did', change: 'log-probability change', commit: 'commit step' };
  const marks = { '.': ['visible', 'visible'], '-': ['masked', 'masked'], 'o': ['scored', 'masked and scored'],
    '#': ['committed', 'scored, committed by this forward'], '*': ['shown', 'scored though visible'], ' ': ['away', 'not attended to'] };

  const make = (tag, classes, ...content) => {
    const element = document.createElement(tag);
    if (classes) element.className = classes;
    element.append(...content);
    return element;
  };
  const known = value => typeof value === 'number';
  const signed = (value, digits) => (value > 0 ? '+' : '') + value.toFixed(digits).replace('-', '\u2212');
  const short = value => value === 0 ? '0' : String(Number(value.toPrecision(3))).replace('-', '\u2212');
  const isSpecial = text => text.length > 2 ? text.startsWith('\u003c') ? text.endsWith('>') : false : false;
  const change = (response, i) => response.before ? known(response.before[i]) ? response.after[i] - response.before[i] : null : null;
  const largest = (responses, value) => {
    let most = 0;
    for (const response of responses) response.tokens.forEach((token, i) => { most = Math.max(most, Math.abs(value(response, i) ?? 0)); });
    return most;
  };
  const gradient = (response, i) => response.gradient ? response.gradient[i] : 0;
  const lastStep = response => Math.max(0, ...response.commit_step);

  const treatment = (response, i) => {
    const times = response.scored ? response.scored[i] : 0;
    if (times === 0) return { name: 'none', text: response.scored ? 'no view scores it' : 'not trained on' };
    const zero = response.clipped[i] + response.dropped[i];
    if (response.dropped[i] === times) return { name: 'dropped', text: 'dropped: the slope of the loss is 0 from the beginning' };
    if (zero === times) return { name: 'clipped', text: 'clipped: the slope of the loss is 0' };
    const way = gradient(response, i) > 0 ? 'minus' : 'plus';
    const partly = zero > 0 ? ', slope 0 in ' + zero + ' of ' + times : '';
    return { name: way, partly: zero > 0, text: (way === 'plus' ? 'pushed up' : 'pushed down') + partly };
  };

  const paint = (tile, response, i, most) => {
    if (state.colour === 'commit') {
      const step = response.commit_step[i], last = lastStep(response);
      if (0 > step) { tile.classList.add('never'); return ''; }
      tile.classList.add('k' + (last === 0 ? 0 : Math.floor((step * 7 + last / 2) / last)));
      return String(step + 1);
    }
    const shade = (name, share) => { tile.classList.add(name); tile.style.setProperty('--a', (0.1 + 0.5 * Math.sqrt(share)).toFixed(3)); };
    if (state.colour === 'change') {
      const moved = change(response, i);
      if (moved === null) { tile.classList.add('none'); return ''; }
      if (moved !== 0) shade(moved > 0 ? 'up' : 'down', Math.abs(moved) / most.change);
      return '';
    }
    const done = treatment(response, i);
    if (done.partly) tile.classList.add('partly');
    if (done.name === 'plus' || done.name === 'minus') {
      shade(done.name, Math.abs(gradient(response, i)) / most.gradient);
      return done.name === 'plus' ? '\u2191' : '\u2193';
    }
    tile.classList.add(done.name);
    return '';
  };

  const facts = (response, i) => {
    const text = isSpecial(response.tokens[i]) ? response.tokens[i] : '\u201c' + response.tokens[i].replaceAll('\n', '\u21b5') + '\u201d';
    const step = response.commit_step[i], parts = ['position ' + (i + 1) + ', ' + text];
    parts.push(0 > step ? 'never committed' : 'committed in forward ' + (step + 1) + ' at probability ' +
      Math.exp(response.commit_logprob[i]).toFixed(3) + ', log ' + signed(response.commit_logprob[i], 3));
    const moved = change(response, i);
    if (moved !== null) parts.push('log-probability ' + signed(response.before[i], 3) + ' before the update, ' +
      signed(response.after[i], 3) + ' after it (' + signed(moved, 4) + ')');
    const done = treatment(response, i);
    const times = response.scored ? response.scored[i] : 0;
    const slope = done.name === 'plus' || done.name === 'minus' ? ', slope of the loss ' + short(response.gradient[i]) : '';
    parts.push(done.text + slope + (times > 0 ? ', scored ' + times + '\u00d7' : ''));
    if (response.token_advantage) parts.push('advantage of the token ' + short(response.token_advantage[i]));
    return parts.join('; ');
  };

  const tokens = (response, most, detail) => {
    const box = make('div', 'tokens');
    for (let i = 0, next = 1; response.tokens.length > i; i = next) {
      const text = response.tokens[i], special = isSpecial(text);
      next = i + 1;
      while (special ? response.tokens[next] === text : false) next += 1;
      const run = next - i > 3 ? next - i : 1;
      next = i + run;
      const tile = make('span', special ? 't special' : 't');
      const mark = paint(tile, response, i, most);
      const name = special ? text.replace(/^[\u003c|]+|[|>]+$/g, '') + (run > 1 ? ' \u00d7' + run : '') : text.replaceAll('\n', '\u21b5');
      tile.append(name);
      if (mark) tile.append(make('sub', '', mark));
      tile.title = facts(response, i);
      const tell = () => {
        for (const old of box.querySelectorAll('.chosen')) old.classList.remove('chosen');
        tile.classList.add('chosen');
        detail.textContent = facts(response, i);
      };
      tile.addEventListener('pointerenter', tell);
      tile.addEventListener('click', tell);
      box.append(tile, make('wbr'));
      for (let line = special ? 0 : text.split('\n').length - 1; line > 0; line -= 1) box.append(make('br'));
    }
    return box;
  };

  const strip = (cells, width) => {
    const name = 'http' + ':/' + '/www.w3.org/2000/svg', svg = document.createElementNS(name, 'svg');
    svg.setAttribute('viewBox', '0 0 ' + width + ' 1');
    svg.setAttribute('preserveAspectRatio', 'none');
    for (let i = 0, next = 0; cells.length > i; i = next) {
      next = i + 1;
      while (cells[next] === cells[i]) next += 1;
      const rect = document.createElementNS(name, 'rect');
      rect.setAttribute('x', i);
      rect.setAttribute('width', next - i);
      rect.setAttribute('height', 1);
      rect.setAttribute('class', 'v-' + (marks[cells[i]] ?? marks['.'])[0]);
      svg.append(rect);
    }
    return svg;
  };
  const views = response => {
    const list = response.views.shown, count = response.views.count;
    const box = make('details', '', make('summary', '', count + (count === 1 ? ' view' : ' views') + ' of the plan' +
      (count > list.length ? ', the first ' + list.length : '')));
    const several = list.some(view => view.iteration > 0);
    for (const view of list) {
      const row = make('div', 'view', make('span', '', (several ? (view.iteration + 1) + '/' : '') + 'forward ' + (view.forward + 1)));
      row.append(strip(view.marks, response.tokens.length));
      const of = names => Array.from(view.marks).filter(mark => names.includes(mark)).length;
      row.title = of('-o#') + ' masked, ' + of('o#*') + ' scored' + (known(view.weight) ? ', weight ' + short(view.weight) : '') +
        (view.prompt_masked ? ', ' + view.prompt_masked + ' of the prompt masked' : '') + (several ? ', inner iteration ' + (view.iteration + 1) : '');
      box.append(row);
    }
    const legend = make('p', 'legend');
    for (const [mark, [, text]] of Object.entries(marks)) {
      if (list.some(view => view.marks.includes(mark))) legend.append(make('span', '', strip(mark, 1), text));
    }
    box.append(legend);
    return box;
  };

  const advantage = (value, most) => {
    const bar = make('span', 'advantage'), part = make('i', value > 0 ? 'plus' : 'minus');
    const width = most > 0 ? 50 * Math.abs(value) / most : 0;
    part.style.width = width + '%';
    part.style.left = (value > 0 ? 50 : 50 - width) + '%';
    bar.append(part);
    return bar;
  };
  const article = (response, number, most) => {
    const head = make('h3', '', make('span', 'verdict ' + (response.solved ? 'solved' : 'failed'), response.solved ? '\u2713 solved' : '\u2717 failed'));
    head.append(make('span', '', 'response ' + (number + 1)), make('span', '', 'reward ' + short(response.reward)));
    if (known(response.advantage))
      head.append(make('span', '', 'advantage ' + signed(response.advantage, 2) + ' ', advantage(response.advantage, most.advantage)));
    if (response.parts.length > 1) {
      for (const part of response.parts)
        head.append(make('span', 'parts', part.name + ' ' + short(part.value) + ' \u00d7 ' + short(part.weight) + ', ' + part.status + (part.reason ? ': ' + part.reason : '')));
    } else if (response.reason) {
      head.append(make('span', '', response.reason));
    }
    const sum = response.parts.reduce((all, part) => all + part.value * part.weight, 0);
    if (Math.abs(sum - response.reward) > 1e-3 * (1 + Math.abs(sum)))
      head.append(make('span', 'parts', 'the rewards say ' + short(sum) + '; it counts as ' + short(response.reward) + ', because it fills its length'));
    const detail = make('p', 'detail', 'Point at a token, or tap it.');
    const one = make('article', '', head, tokens(response, most, detail), detail);
    if (response.views) one.append(views(response));
    return one;
  };

  const legend = most => {
    const box = make('p', 'legend');
    const sample = (classes, shade, text, mark) => {
      const tile = make('span', 't ' + classes, 'ab');
      if (mark) tile.append(make('sub', '', mark));
      tile.style.setProperty('--a', shade);
      box.append(make('span', '', tile, ' ' + text));
    };
    const scale = (low, high, from, to) => {
      const ramp = make('i', 'scale');
      ramp.style.background = 'linear-gradient(90deg, rgb(var(' + low + ') / 0.6), rgb(var(' + low + ') / 0.1) 49%, rgb(var(' + high + ') / 0.1) 51%, rgb(var(' + high + ') / 0.6))';
      box.append(make('span', '', from, ramp, to));
    };
    if (state.colour === 'commit') {
      const ramp = make('span', '', 'committed early ');
      for (let k = 0; 8 > k; k += 1) ramp.append(make('i', 'k' + k));
      ramp.append(' late; the small number is the forward');
      box.append(ramp);
    } else if (state.colour === 'change') {
      scale('--down', '--up', signed(-most.change, 3), signed(most.change, 3));
      box.append(make('span', '', 'log-probability after the update, less that before it: mean over the views that score the token'));
      sample('none', 0, 'not scored');
    } else {
      sample('plus', 0.5, 'pushed up', '\u2191');
      sample('minus', 0.5, 'pushed down', '\u2193');
      box.append(make('span', '', 'the stronger, the larger the slope of the loss'));
      sample('clipped', 0, 'clipped: slope 0 since the policy moved');
      sample('plus partly', 0.3, 'in some views or steps only');
      sample('dropped', 0, 'dropped: slope 0 from the beginning');
      sample('none', 0, 'not scored');
    }
    return box;
  };

  const fate = group => {
    if (group.kept) return 'trained on';
    const first = group.responses[0].reward;
    return group.responses.every(one => one.reward === first) ? 'not trained on: all rewards are equal' : 'not trained on: left out by [filter], or not judged';
  };
  const button = (text, pressed, action, classes) => {
    const one = make('button', classes ?? '', text);
    one.type = 'button';
    one.setAttribute('aria-pressed', pressed);
    one.addEventListener('click', () => { action(); show(); });
    return one;
  };
  const bar = step => {
    const chooser = make('select');
    chooser.setAttribute('aria-label', 'step');
    steps.forEach((one, i) => { const option = make('option', '', 'step ' + one.step); option.value = i; chooser.append(option); });
    chooser.value = state.step;
    chooser.addEventListener('change', () => { state.step = Number(chooser.value); show(); });
    const move = by => () => { state.step = Math.min(steps.length - 1, Math.max(0, state.step + by)); };
    const ends = (label, by, at) => { const one = button(label, false, move(by)); one.disabled = state.step === at; one.setAttribute('aria-label', by > 0 ? 'next step' : 'step before'); return one; };
    const chosen = make('span', '', ends('\u2039', -1, 0), chooser, ends('\u203a', 1, steps.length - 1));
    const groups = make('span', '', make('small', '', 'group'));
    step.groups.forEach((group, i) => {
      const solved = group.responses.filter(one => one.solved).length;
      groups.append(button((group.group + 1) + ' \u00b7 ' + solved + '/' + group.responses.length, state.group === i, () => { state.group = i; }, group.kept ? '' : 'left'));
    });
    groups.append(make('small', '', 'solved; ' + step.kept_groups + ' of ' + step.groups_of_step + ' groups were trained on'));
    const painted = make('span', '', make('small', '', 'colour'));
    for (const [name, text] of Object.entries(colours)) painted.append(button(text, state.colour === name, () => { state.colour = name; }));
    return make('div', 'bar', chosen, groups, painted);
  };

  const show = () => {
    const focused = Array.from(place.querySelectorAll('button, select')).indexOf(document.activeElement);
    const open = Array.from(place.querySelectorAll('article details'), one => one.open);
    const step = steps[state.step];
    state.group = Math.min(state.group, step.groups.length - 1);
    const group = step.groups[state.group], responses = group.responses;
    const most = { change: largest(responses, change), gradient: largest(responses, gradient),
      advantage: Math.max(...responses.map(one => Math.abs(one.advantage ?? 0))) };
    const question = make('div', 'card question', make('h3', '', 'Item ' + group.item + ' ', make('small', '', fate(group))), make('pre', '', group.prompt));
    if (group.reference) question.append(make('h4', '', 'reference'), make('pre', '', group.reference));
    place.replaceChildren(bar(step), question, legend(most), make('div', 'samples', ...responses.map((one, i) => article(one, i, most))));
    place.querySelectorAll('article details').forEach((one, i) => { one.open = open[i] ?? false; });
    if (focused >= 0) place.querySelectorAll('button, select')[focused]?.focus();
  };
  show();
}

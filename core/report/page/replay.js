for (const replay of document.querySelectorAll('.replay')) {
  const tokens = Array.from(replay.querySelectorAll('[data-step]'));
  const slider = replay.querySelector('input'), button = replay.querySelector('button');
  const output = replay.querySelector('output'), detail = replay.querySelector('.detail'), rest = detail.textContent;
  const last = Number(slider.max), stepOf = token => Number(token.dataset.step);
  const committed = tokens.filter(token => stepOf(token) >= 0).length;
  let timer = 0;
  const show = forwards => {
    slider.value = forwards;
    let written = 0;
    for (const token of tokens) {
      const step = stepOf(token), masked = step >= 0 ? step >= forwards : last > forwards;
      token.classList.toggle('masked', masked);
      token.classList.toggle('now', step >= 0 ? step === (last > forwards ? forwards - 1 : last) : false);
      written += masked || 0 > step ? 0 : 1;
    }
    output.textContent = 'forward ' + forwards + ' of ' + last + ', ' + written + ' of ' + committed + ' tokens';
  };
  const stop = () => { clearInterval(timer); timer = 0; button.textContent = '▶ play'; };
  button.addEventListener('click', () => {
    if (timer) return stop();
    if (Number(slider.value) === last) show(0);
    button.textContent = '❚❚ pause';
    timer = setInterval(() => {
      if (last > Number(slider.value)) show(Number(slider.value) + 1);
      if (Number(slider.value) === last) stop();
    }, Math.max(40, Math.min(600, 10000 / last)));
  });
  slider.addEventListener('input', () => { stop(); show(Number(slider.value)); });
  const tell = event => {
    const token = event.target.closest('[data-step]');
    if (token === null) return;
    detail.textContent = token.classList.contains('masked') ? 'still masked' : token.title;
  };
  replay.addEventListener('pointerover', tell);
  replay.addEventListener('click', tell);
  replay.addEventListener('pointerleave', () => { detail.textContent = rest; });
  replay.querySelector('.controls').hidden = false;
  show(last);
}

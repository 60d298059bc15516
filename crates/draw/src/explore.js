'use strict';
// A closer look: a stretch of a chart over time fills it, and series are taken out and put back.
// Drag across a chart; or `+`, `-` and `0` by keys. Without this script the page is whole.
// What was chosen is kept by figure: a part of the page that was drawn anew has it again.
(() => {
  const chosen = new Map();
  const whole = new WeakMap();
  const LEAST_PIXELS = 8;
  const TICKS = 6;

  function choice(figure) {
    if (!chosen.has(figure.id)) chosen.set(figure.id, { off: new Set(), seconds: null });
    return chosen.get(figure.id);
  }

  const plots = (figure) => Array.from(figure.querySelectorAll('.plot[data-span]'));

  // What is seen of a chart, as shares of its width.
  function view(plot, figure) {
    const span = Number(plot.dataset.span);
    const [from, to] = choice(figure).seconds || [0, span];
    return from < span ? [from / span, Math.min(to / span, 1)] : [0, 1];
  }

  // --- series

  // What tells a series from others in one figure: its colour, and whether it is broad or pale.
  function mark(element, byColour) {
    const shapes = ['key', 'line', 'block', 'l', 'b', 'dash', 'dots', 'fine', 'sym', 'full', 'thin'];
    const names = Array.from(element.classList).filter((name) => !shapes.includes(name));
    return names.filter((name) => !byColour || !['broad', 'pale'].includes(name)).join(' ');
  }

  function entries(figure) {
    const drawn = Array.from(figure.querySelectorAll('.panels .data path, .panels .at path'));
    const heads = Array.from(figure.querySelectorAll('.panels thead th[class]'));
    return Array.from(figure.querySelectorAll('.legend > span')).map((entry) => {
      const key = entry.querySelector('.key, .sym');
      const byColour = key !== null && key.classList.contains('sym');
      const own = key && mark(key, byColour);
      const is = (one) => Boolean(own) && mark(one, byColour) === own;
      return { entry, name: entry.textContent, drawn: drawn.filter(is), heads: heads.filter(is) };
    }).filter((one) => one.drawn.length > 0);
  }

  function showSeries(figure) {
    const { off } = choice(figure);
    for (const { entry, name, drawn, heads } of entries(figure)) {
      entry.setAttribute('aria-pressed', String(!off.has(name)));
      drawn.forEach((path) => path.classList.toggle('off', off.has(name)));
      heads.forEach((head) => head.toggleAttribute('data-off', off.has(name)));
    }
  }

  function attachSeries(figure) {
    const all = entries(figure);
    if (all.length < 2) return;
    for (const { entry, name } of all) {
      entry.setAttribute('role', 'button');
      entry.tabIndex = 0;
      const turn = () => {
        const { off } = choice(figure);
        if (!off.delete(name)) off.add(name);
        showSeries(figure);
      };
      entry.addEventListener('click', turn);
      entry.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        turn();
      });
    }
    showSeries(figure);
  }

  // --- time

  // Moves what stands at a share of the width; what spans all of it stays.
  function move(element, [from, to]) {
    if (element.matches('.mark-name[dy]')) return;
    if (!whole.has(element)) {
      const value = (name) => element.getAttribute(name);
      const names = ['x', 'x1', 'x2', 'width'].filter((name) => (value(name) || '').endsWith('%'));
      whole.set(element, names.map((name) => [name, parseFloat(value(name)) / 100]));
    }
    const own = new Map(whole.get(element));
    const at = (share) => (share - from) / (to - from);
    let [left, right] = [at(own.get('x') ?? own.get('x1')), at(own.get('x') ?? own.get('x1'))];
    if (own.has('x') && own.has('width')) {
      right = Math.min(at(own.get('x') + own.get('width')), 1);
      left = Math.max(left, 0);
      element.setAttribute('width', 100 * Math.max(right - left, 0) + '%');
    }
    for (const name of ['x', 'x1', 'x2']) {
      if (own.has(name)) element.setAttribute(name, 100 * left + '%');
    }
    element.classList.toggle('off', !(left < 1.0001 && right > -0.0001));
  }

  // Times of columns, where few of the chart's own are in sight.
  function moreTimes(plot, svg, [from, to]) {
    const table = document.getElementById(plot.dataset.table);
    const columns = Number(plot.dataset.columns);
    const own = Array.from(svg.querySelectorAll('.x, .tick'));
    const seen = own.filter((one) => one.matches('.x') && !one.classList.contains('off'));
    if (!table || plot.dataset.from || seen.length > 2) return;
    own.forEach((one) => one.classList.add('off'));
    const rows = table.tBodies[0].rows;
    const [first, end] = [Math.ceil(from * columns), Math.min(to * columns, rows.length)];
    const step = Math.max(1, Math.ceil((end - first) / TICKS));
    const make = (name, of) => {
      const made = document.createElementNS(svg.namespaceURI, name);
      Object.entries(of).forEach(([key, value]) => made.setAttribute(key, value));
      svg.append(made);
      return made;
    };
    for (let column = first; column < end; column += step) {
      const x = 100 * (column / columns - from) / (to - from) + '%';
      make('line', { class: 'tick closer', x1: x, x2: x, y1: 220, y2: 225 });
      const odd = (column - first) / step % 2 ? ' odd' : '';
      const text = make('text', { class: 'x closer' + odd, x, y: 238 });
      text.textContent = rows[column].cells[0].textContent;
    }
  }

  function showTime(figure) {
    for (const plot of plots(figure)) {
      const [from, to] = view(plot, figure);
      plot.view = [from, to];
      plot.classList.toggle('closer', to - from < 1);
      for (const svg of plot.querySelectorAll('svg.chart')) {
        svg.querySelectorAll('.closer').forEach((made) => made.remove());
        const inner = svg.querySelector('.data');
        if (!whole.has(inner)) whole.set(inner, inner.getAttribute('viewBox').split(' ').map(Number));
        const [x, y, width, height] = whole.get(inner);
        const box = [x + from * width, y, (to - from) * width, height];
        inner.setAttribute('viewBox', box.join(' '));
        const placed = Array.from(svg.querySelectorAll('[x$="%"], [x1$="%"]'));
        placed.filter((one) => !inner.contains(one)).forEach((one) => move(one, [from, to]));
        if (to - from < 1) moreTimes(plot, svg, [from, to]);
      }
      plot.dispatchEvent(new Event('viewed'));
    }
    const back = figure.querySelector('.back');
    if (back) back.hidden = choice(figure).seconds === null;
  }

  function look(plot, figure, [from, to]) {
    const span = Number(plot.dataset.span);
    const least = 2 / Math.max(Number(plot.dataset.columns), 50);
    const middle = (from + to) / 2;
    const half = Math.max(to - from, least) / 2;
    const left = Math.max(0, middle - half);
    const right = Math.min(1, middle + half);
    choice(figure).seconds = right - left < 0.999 ? [left * span, right * span] : null;
    showTime(figure);
  }

  function attachTime(plot, figure) {
    const picked = document.createElement('div');
    picked.className = 'picked';
    picked.hidden = true;
    plot.append(picked);
    let start = null;

    function area() {
      const charts = Array.from(plot.querySelectorAll('svg.chart'));
      const shown = charts.find((chart) => getComputedStyle(chart).display !== 'none');
      return (shown || charts[0]).getBoundingClientRect();
    }

    function stop() {
      start = null;
      picked.hidden = true;
    }

    plot.addEventListener('pointerdown', (event) => {
      const inside = area();
      const isIn = event.clientX >= inside.left && event.clientX <= inside.right;
      if (event.button === 0 && isIn && !event.target.closest('a, button')) start = event.clientX;
    });
    plot.addEventListener('pointermove', (event) => {
      if (start === null) return;
      if (!plot.hasPointerCapture(event.pointerId)) plot.setPointerCapture(event.pointerId);
      const inside = area();
      const ends = [start, event.clientX].map((x) => Math.min(Math.max(x, inside.left), inside.right));
      picked.hidden = Math.abs(event.clientX - start) < LEAST_PIXELS;
      picked.style.left = Math.min(...ends) - plot.getBoundingClientRect().left + 'px';
      picked.style.width = Math.abs(ends[1] - ends[0]) + 'px';
    });
    plot.addEventListener('pointerup', (event) => {
      const from = start;
      const isDragged = from !== null && Math.abs(event.clientX - from) >= LEAST_PIXELS;
      stop();
      if (!isDragged) return;
      const inside = area();
      const [left, right] = view(plot, figure);
      const share = (x) => Math.min(Math.max((x - inside.left) / inside.width, 0), 1);
      const ends = [share(from), share(event.clientX)].sort((a, b) => a - b);
      look(plot, figure, ends.map((end) => left + end * (right - left)));
    });
    plot.addEventListener('pointercancel', stop);
    plot.addEventListener('dblclick', () => look(plot, figure, [0, 1]));
    plot.addEventListener('keydown', (event) => {
      const by = { '+': 0.5, '=': 0.5, '-': 2, 0: Infinity }[event.key];
      if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const [from, to] = view(plot, figure);
      if (by === Infinity) return look(plot, figure, [0, 1]);
      const at = plot.place ?? (from + to) / 2;
      const width = Math.min((to - from) * by, 1);
      const left = Math.min(Math.max(at - width / 2, 0), 1 - width);
      look(plot, figure, [left, left + width]);
    });
    plot.setAttribute('aria-keyshortcuts', '+ - 0');
  }

  function attach(figure) {
    attachSeries(figure);
    const all = plots(figure);
    if (all.length === 0) return;
    const back = document.createElement('button');
    back.type = 'button';
    back.className = 'back';
    back.textContent = 'Whole time';
    back.addEventListener('click', () => {
      choice(figure).seconds = null;
      showTime(figure);
      all[0].focus();
    });
    figure.querySelector('.legend').append(back);
    all.forEach((plot) => attachTime(plot, figure));
    showTime(figure);
  }

  const attachAll = (part) => part.querySelectorAll('figure.fig[id]').forEach(attach);
  attachAll(document);
  document.addEventListener('drawn', (event) => attachAll(event.target));
})();

'use strict';
// Read-outs: a line under the pointer (or moved by the arrow keys) and the values of its column.
// The values are those of the table below the chart; without this script nothing is missing.
// A part of the page that was drawn anew says so by the event `drawn`.
(() => {
  const PLOT_HEIGHT = 220;

  function attach(plot) {
    const table = document.getElementById(plot.dataset.table);
    if (!table) return;
    const columns = Number(plot.dataset.columns);
    const buckets = Number(plot.dataset.heat);
    // Where the columns are not of one width: the left end, the line's place, the right end of
    // each; and which of the table's columns are read out.
    const shares = (text) => text && text.split(' ').map(Number);
    const from = shares(plot.dataset.from);
    const places = shares(plot.dataset.at);
    const to = shares(plot.dataset.to);
    const wanted = shares(plot.dataset.show);
    const heads = Array.from(table.tHead.rows[0].cells);
    const rows = table.tBodies[0].rows;
    const line = document.createElement('div');
    const box = document.createElement('div');
    let at = -1;
    line.className = 'crosshair';
    box.className = 'readout';
    line.hidden = box.hidden = true;
    box.setAttribute('role', 'status');
    plot.append(line, box);
    plot.tabIndex = 0;

    // The chart that is shown: the reader may have chosen the other scale.
    function area() {
      const charts = Array.from(plot.querySelectorAll('svg.chart'));
      const shown = charts.find((chart) => getComputedStyle(chart).display !== 'none');
      return (shown || charts[0]).getBoundingClientRect();
    }

    function entry(head, value) {
      const item = document.createElement('div');
      const text = document.createElement('span');
      if (head.className) {
        const key = document.createElement('i');
        key.className = 'key line ' + head.className;
        item.append(key);
      }
      item.append(head.textContent, text);
      text.textContent = value;
      return item;
    }

    // Where a column stands in what is seen of the chart, as a share of its width.
    function placeOf(column) {
      const [left, right] = plot.view || [0, 1];
      const place = places ? places[column] : (column + 0.5) / columns;
      return (place - left) / (right - left);
    }

    // The series whose values are shown: of a heat map, the bucket at the height of the pointer.
    function chosen(row, height) {
      const isOn = (index) => heads[index].dataset.off === undefined;
      const all = heads.map((head, index) => index).slice(1);
      if (!buckets) return (wanted || all).filter(isOn);
      if (height === null) return all.filter((index) => row.cells[index].textContent);
      const bucket = Math.floor((1 - height) * buckets);
      return [Math.min(Math.max(bucket, 0), buckets - 1) + 1];
    }

    function show(column, height) {
      const row = rows[column];
      if (!row) return hide();
      at = column;
      box.replaceChildren();
      const title = document.createElement('b');
      title.textContent = row.cells[0].textContent;
      box.append(title);
      for (const index of chosen(row, height).slice(-12)) {
        const value = row.cells[index].textContent;
        if (value || !buckets) box.append(entry(heads[index], value || 'no value'));
        else box.append(entry(heads[index], '0'));
      }
      const inside = area();
      const outside = plot.getBoundingClientRect();
      plot.place = places ? places[column] : (column + 0.5) / columns;
      const x = inside.left - outside.left + placeOf(column) * inside.width;
      line.hidden = box.hidden = false;
      line.style.left = x + 'px';
      line.style.top = inside.top - outside.top + 'px';
      const right = x + 12 + box.offsetWidth <= outside.width;
      box.style.left = Math.max(0, right ? x + 12 : x - 12 - box.offsetWidth) + 'px';
    }

    function hide() {
      line.hidden = box.hidden = true;
      plot.place = undefined;
      at = -1;
    }

    plot.addEventListener('pointermove', (event) => {
      const inside = area();
      const [left, right] = plot.view || [0, 1];
      const across = (event.clientX - inside.left) / inside.width;
      if (across < 0 || across >= 1) return hide();
      const share = left + across * (right - left);
      const height = (event.clientY - inside.top) / PLOT_HEIGHT;
      const column = from
        ? from.findIndex((begin, index) => share >= begin && share < to[index])
        : Math.floor(share * columns);
      show(column, Math.min(Math.max(height, 0), 0.9999));
    });
    plot.addEventListener('viewed', () => {
      if (placeOf(at) >= 0 && placeOf(at) <= 1) show(at, null);
      else hide();
    });
    plot.addEventListener('pointerleave', hide);
    plot.addEventListener('blur', hide);
    plot.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
      if (event.key === 'Escape') return hide();
      if (!step || !rows.length) return;
      event.preventDefault();
      const seen = Array.from(rows, (row, column) => column)
        .filter((column) => placeOf(column) >= 0 && placeOf(column) <= 1);
      if (seen.length) show(Math.min(Math.max(at + step, seen[0]), seen[seen.length - 1]), null);
    });
  }

  const attachAll = (part) => part.querySelectorAll('.plot').forEach(attach);
  attachAll(document);
  document.addEventListener('drawn', (event) => attachAll(event.target));
  window.addEventListener('resize', () => {
    const all = document.querySelectorAll('.crosshair, .readout');
    all.forEach((shown) => { shown.hidden = true; });
  });
})();

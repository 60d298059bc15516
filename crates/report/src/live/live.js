'use strict';
// The page of what goes on: parts come as events and take the place of those that are there. What
// the reader has opened, chosen or scrolled stays so; a part that is being read is exchanged later.
(() => {
  const line = document.getElementById('live');
  const waiting = new Map();
  const source = new EventSource(line.dataset.events);

  function isRead(part) {
    const chosen = document.getSelection();
    return part.querySelector('.readout:not([hidden])') !== null
      || (!chosen.isCollapsed && part.contains(chosen.anchorNode));
  }

  function exchange(part, html) {
    const all = (selector) => Array.from(part.querySelectorAll(selector));
    const open = all('details').map((one) => one.open);
    const picked = all('.pick:checked').map((one) => one.id);
    const places = all('.scroll, .plan, nav').map((one) => [one.scrollLeft, one.scrollTop]);
    part.innerHTML = html;
    all('details').forEach((one, index) => { one.open = Boolean(open[index]); });
    picked.map((id) => document.getElementById(id)).forEach((one) => {
      if (one) one.checked = true;
    });
    all('.scroll, .plan, nav').forEach((one, index) => {
      if (places[index]) [one.scrollLeft, one.scrollTop] = places[index];
    });
    part.dispatchEvent(new CustomEvent('drawn', { bubbles: true }));
  }

  function exchangeAll() {
    for (const [selector, html] of waiting) {
      const part = document.querySelector(selector);
      if (part && isRead(part)) continue;
      waiting.delete(selector);
      if (part) exchange(part, html);
    }
  }

  // The first lines of an event, and what follows them.
  function lines(event, count) {
    const all = event.data.split('\n');
    return [...all.slice(0, count), all.slice(count).join('\n')];
  }

  function say(text) {
    line.lastElementChild.textContent = text;
  }

  source.addEventListener('part', (event) => {
    const [selector, html] = lines(event, 1);
    if (selector === 'main') waiting.clear();
    // The newest stands at the end, after the whole to which it belongs.
    waiting.delete(selector);
    waiting.set(selector, html);
  });
  source.addEventListener('drawn', (event) => {
    [document.body.className, document.title] = lines(event, 2);
    exchangeAll();
  });
  source.addEventListener('now', (event) => say(event.data));
  source.addEventListener('end', (event) => {
    source.close();
    line.firstElementChild.textContent = 'Ended';
    say(event.data);
  });
  source.addEventListener('error', () => say('The program does not answer; it is asked again.'));
  document.addEventListener('pointerout', exchangeAll);
  document.addEventListener('focusout', exchangeAll);
  document.addEventListener('selectionchange', exchangeAll);
})();

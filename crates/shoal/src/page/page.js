'use strict';
// Sorts, filters and turns pages without a reload, and keeps what is shown up to date. Each time
// the server writes the page, and parts of it take the place of what is there: nothing is made of
// text here. Without this script nothing is missing but that.
(() => {
  const EVERY_MS = 5000;
  const LONGEST_MS = 60000;
  // The parts of a table; where one is missing on either side the whole list is exchanged.
  const TABLE = ['caption', 'heads', 'rows', 'pages'];
  const OTHERS = ['as-of', 'generation', 'attention', 'summary', 'place', 'errors'];

  const find = (id) => document.getElementById(id);
  const pause = find('pause');
  const status = find('status');
  let paused = false;
  let tag = null;
  let wait = EVERY_MS;
  let timer = 0;
  let asking = null;
  // Ages are counted on from when they were told.
  let told = performance.now();

  function put(incoming, id) {
    const old = find(id);
    const fresh = incoming.getElementById(id);
    if (old && fresh) old.replaceChildren(...fresh.childNodes);
  }

  // What had the focus has it again, if it is still there.
  function keepingFocus(change) {
    const had = document.activeElement;
    const id = had && had.id;
    const href = had && had.getAttribute && had.getAttribute('href');
    const scroll = document.querySelector('#list .scroll');
    const left = scroll ? scroll.scrollLeft : 0;
    change();
    const now = document.querySelector('#list .scroll');
    if (now) now.scrollLeft = left;
    if (!had || had.isConnected) return;
    const again = (id && find(id)) || (href && document.querySelector(`a[href="${CSS.escape(href)}"]`));
    (again || find('list')).focus({ preventScroll: true });
  }

  function show(text, withForm) {
    const incoming = new DOMParser().parseFromString(text, 'text/html');
    if (!incoming.getElementById('list')) return false;
    const forms = Boolean(find('filters')) === Boolean(incoming.getElementById('filters'));
    keepingFocus(() => {
      if (!forms) {
        // The first cache came, or the last one went.
        put(incoming, 'main');
      } else {
        const whole = TABLE.every((id) => find(id) && incoming.getElementById(id));
        if (whole) TABLE.forEach((id) => put(incoming, id));
        else put(incoming, 'list');
        OTHERS.forEach((id) => put(incoming, id));
        if (withForm && find('filters')) {
          find('filters').replaceWith(incoming.getElementById('filters'));
        }
      }
      put(incoming, 'as-of');
      put(incoming, 'generation');
    });
    document.title = incoming.title;
    find('refresh').href = location.href;
    told = performance.now();
    return true;
  }

  function say(text) {
    if (status.textContent !== text) status.textContent = text;
  }

  // Asks for the page at an address; `by` says whose wish it is: 'poll', 'link', 'form', 'back'.
  async function ask(href, by) {
    clearTimeout(timer);
    if (asking) asking.abort();
    const own = new AbortController();
    asking = own;
    const headers = by === 'poll' && tag ? { 'If-None-Match': tag } : {};
    try {
      const answer = await fetch(href, { headers, signal: own.signal, cache: 'no-store' });
      if (answer.status !== 304) {
        if (!answer.ok && by !== 'poll') return void location.assign(href);
        if (!answer.ok) throw new Error(String(answer.status));
        const text = await answer.text();
        // What is being selected is not taken away.
        const selected = by === 'poll' && !getSelection().isCollapsed;
        if (!selected) {
          const goes = (by === 'link' || by === 'form') && href !== location.href;
          if (goes) history.pushState(null, '', href);
          if (!show(text, by === 'link' || by === 'back')) throw new Error('no page');
          tag = answer.headers.get('ETag');
          if (by !== 'poll' && find('caption')) say(find('caption').textContent);
        }
      }
      if (by === 'poll') say(`updated every ${EVERY_MS / 1000} s`);
      wait = EVERY_MS;
    } catch (error) {
      if (error.name === 'AbortError') return;
      if (by !== 'poll') return void location.assign(href);
      wait = Math.min(wait * 2, LONGEST_MS);
      say('the registry does not answer; trying again');
    }
    asking = null;
    later();
  }

  function later() {
    clearTimeout(timer);
    if (!paused && !document.hidden) timer = setTimeout(() => ask(location.href, 'poll'), wait);
  }

  function age(s) {
    if (s < 120) return `${s} s`;
    return s < 7200 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3600)} h`;
  }

  function tick() {
    if (paused || document.hidden) return;
    const since = Math.floor((performance.now() - told) / 1000);
    for (const element of document.querySelectorAll('[data-age]')) {
      const text = age(Number(element.dataset.age) + since);
      if (element.textContent !== text) element.textContent = text;
    }
  }

  // Whether a link leads to another view of this page.
  function isView(link) {
    const url = new URL(link.href, location.href);
    return url.origin === location.origin && /^\/\d*$/.test(url.pathname) && !url.hash;
  }

  document.addEventListener('click', (event) => {
    const link = event.target.closest && event.target.closest('a[href]');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (!isView(link)) return;
    event.preventDefault();
    ask(link.href, 'link');
  });

  function filter(form) {
    const url = new URL(form.action);
    for (const [name, value] of new FormData(form)) {
      if (value) url.searchParams.append(name, value);
    }
    ask(url.href, 'form');
  }
  document.addEventListener('submit', (event) => {
    if (event.target.id !== 'filters') return;
    event.preventDefault();
    filter(event.target);
  });
  document.addEventListener('change', (event) => {
    const form = event.target.form;
    if (form && form.id === 'filters' && form.reportValidity()) filter(form);
  });

  window.addEventListener('popstate', () => ask(location.href, 'back'));
  document.addEventListener('visibilitychange', () => {
    if (document.hidden || paused) clearTimeout(timer);
    else ask(location.href, 'poll');
  });

  pause.addEventListener('click', () => {
    paused = !paused;
    pause.setAttribute('aria-pressed', String(paused));
    if (!paused) return void ask(location.href, 'poll');
    clearTimeout(timer);
    say('not updated');
  });

  pause.hidden = false;
  find('refresh').hidden = true;
  say(`updated every ${EVERY_MS / 1000} s`);
  setInterval(tick, 1000);
  later();
})();

// Looks at the live page of a run by Chromium, as a user does, until it says that it has ended.
//
//   node watch_page.js CHROMIUM URL PROFILE_FOLDER OUTPUT
//
// The browser is driven over a pipe (--remote-debugging-pipe): no port, no package.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');

const [chromium, url, profile, output] = process.argv.slice(2);
const flags = [
  '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-extensions',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--disable-dev-shm-usage', '--remote-debugging-pipe', `--user-data-dir=${profile}`,
  'about:blank',
];
const browser = spawn(chromium, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
// A browser that does not answer ends the test, not the machine.
const watchdog = setTimeout(() => { browser.kill('SIGKILL'); process.exit(3); }, 90000);

let next = 1;
let session;
const waiting = new Map();
const faults = [];
let loaded = () => {};

function call(method, params = {}) {
  const id = next++;
  browser.stdio[3].write(JSON.stringify({ id, method, params, sessionId: session }) + '\0');
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject, method }));
}

const handlers = {
  'Page.loadEventFired': () => loaded(),
  'Runtime.exceptionThrown': (params) => faults.push(params.exceptionDetails.text),
  'Log.entryAdded': ({ entry }) => {
    // The icon of the site, which a browser asks for by itself, is not there.
    if (entry.level === 'error' && !String(entry.url).endsWith('/favicon.ico')) faults.push(entry.text);
  },
};

let unread = '';
browser.stdio[4].setEncoding('utf8');
browser.stdio[4].on('data', (text) => {
  unread += text;
  const messages = unread.split('\0');
  unread = messages.pop();
  for (const message of messages.map((text) => JSON.parse(text))) {
    if (message.id) {
      const { resolve, reject, method } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) reject(new Error(`${method}: ${message.error.message}`)); else resolve(message.result);
    } else if (handlers[message.method]) {
      handlers[message.method](message.params);
    }
  }
});

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function see(expression) {
  const { result } = await call('Runtime.evaluate', { expression, returnByValue: true });
  return result.value;
}
async function until(expression) {
  while (!(await see(expression))) await pause(50);
}

(async () => {
  const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
  const attached = await call('Target.attachToTarget', { targetId, flatten: true });
  session = attached.sessionId;
  await Promise.all(['Page', 'Runtime', 'Log'].map((domain) => call(`${domain}.enable`)));
  const whole = new Promise((resolve) => { loaded = resolve; });
  await call('Page.navigate', { url });
  await whole;
  await until("document.querySelector('#load .plot')");
  const key = (name) => see(`document.querySelector('#load .plot').dispatchEvent(
    new KeyboardEvent('keydown', { key: '${name}' }))`);
  const isCloser = "document.querySelector('#load .plot').classList.contains('closer')";
  const isOff = "document.querySelector('#load .legend [role=button]').ariaPressed === 'false'"
    + " && document.querySelectorAll('#load .data .off').length > 0";
  // A stretch of a chart that is dragged over fills it.
  const box = JSON.parse(await see(`(() => {
    document.querySelector('#load .plot').scrollIntoView({ block: 'center' });
    const { x, y, width, height } = document.querySelector('#load svg.chart').getBoundingClientRect();
    return JSON.stringify({ x, y: y + height / 2, width });
  })()`));
  const mouse = (type, share) => call('Input.dispatchMouseEvent', {
    type, x: box.x + share * box.width, y: box.y, button: 'left', buttons: 1, clickCount: 1,
  });
  await mouse('mousePressed', 0.1);
  await mouse('mouseMoved', 0.3);
  await mouse('mouseMoved', 0.5);
  await mouse('mouseReleased', 0.5);
  const isDragged = await see(isCloser);
  await key('0');
  const isBack = !(await see(isCloser));
  await call('Input.dispatchMouseEvent', { type: 'mouseMoved', x: 1, y: 1 });
  // What the user opens and chooses stays so while parts are exchanged.
  await key('+');
  await see("document.querySelector('#load .legend [role=button]').click()");
  await see("document.querySelector('#response details').open = true");
  await see("document.querySelector('#response .pick-lin').checked = true");
  const due = "document.querySelector('.tile .detail').textContent";
  const first = await see(due);
  await see("document.querySelector('#response .plot').dataset.mine = 'yes'");
  await until(`${due} !== ${JSON.stringify(first)}`);
  await until("!document.querySelector('#response .plot').dataset.mine");
  const seen = {
    first,
    later: await see(due),
    isOpen: await see("document.querySelector('#response details').open"),
    isChosen: await see("document.querySelector('#response .pick-lin').checked"),
    says: await see("document.querySelector('#live').textContent"),
    isDragged, isBack,
    isCloser: await see(isCloser),
    isOff: await see(isOff),
  };
  await key('0');
  await see("document.querySelector('#load .legend [role=button]').click()");
  // A chart that was exchanged has its read-out, and is left alone while that is shown.
  await see("document.querySelector('#load .plot').focus()");
  for (const key of ['ArrowRight', 'ArrowRight']) {
    await call('Input.dispatchKeyEvent', { type: 'keyDown', key, code: key });
  }
  seen.readout = await see("document.querySelector('#load .readout').textContent");
  await until("document.querySelector('#live b').textContent === 'Ended'");
  seen.stillThere = await see("document.querySelector('#load .readout').textContent");
  await see("document.activeElement.blur()");
  await until("!document.querySelector('#load .readout').textContent");
  seen.ended = await see("document.querySelector('.verdict .says').textContent");
  seen.main = await see("document.querySelector('main').textContent");
  seen.faults = faults;
  fs.writeFileSync(output, JSON.stringify(seen, null, 1));
  const ended = new Promise((resolve) => browser.on('exit', resolve));
  session = undefined;
  call('Browser.close').catch(() => {});
  await ended;
  clearTimeout(watchdog);
})().catch((error) => {
  console.error(error);
  browser.kill('SIGKILL');
  process.exit(1);
});

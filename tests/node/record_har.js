// Walks through a server by Chromium, as a user does, and records it as HAR: `plimsoll target
// --sessions` (shop), or MediaWiki (wiki), where somebody logs in and writes a page.
//
//   node record_har.js CHROMIUM URL PROFILE_FOLDER PAUSE_MS OUTPUT shop|wiki
//
// The browser is driven over a pipe (--remote-debugging-pipe): no port, no package.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');

const [chromium, url, profile, pauseText, output, walk] = process.argv.slice(2);
const pauseMs = Number(pauseText);
const flags = [
  '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-extensions',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--disable-dev-shm-usage', '--remote-debugging-pipe', `--user-data-dir=${profile}`,
  'about:blank',
];
const browser = spawn(chromium, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
// A browser that does not answer ends the test, not the machine.
const watchdog = setTimeout(() => { browser.kill('SIGKILL'); process.exit(3); }, 170000);

let next = 1;
const waiting = new Map();
const requests = new Map();
const entries = [];
let session;

function call(method, params = {}) {
  const id = next++;
  browser.stdio[3].write(JSON.stringify({ id, method, params, sessionId: session }) + '\0');
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject, method }));
}

const headersOf = (object) => Object.entries(object || {}).map(([name, value]) => ({ name, value }));

function begin(params) {
  const { request, wallTime, timestamp, type } = params;
  const entry = {
    startedDateTime: new Date(wallTime * 1000).toISOString(),
    time: 0,
    _resourceType: type.toLowerCase(),
    request: { method: request.method, url: request.url, httpVersion: 'HTTP/1.1', headers: headersOf(request.headers) },
    response: { status: 0, redirectURL: '', headers: [], content: { mimeType: '', size: 0 } },
  };
  if (request.hasPostData) {
    const kind = Object.entries(request.headers).find(([name]) => name.toLowerCase() === 'content-type');
    entry.request.postData = { mimeType: kind ? kind[1] : '', text: request.postData || '' };
  }
  entries.push(entry);
  requests.set(params.requestId, { entry, timestamp });
}

function answered(entry, response) {
  entry.response.status = response.status;
  entry.response.headers = headersOf(response.headers);
  entry.response.content.mimeType = response.mimeType;
}

const bodies = [];
const handlers = {
  'Network.requestWillBeSent': (params) => {
    // What a redirect leads to goes on under the number of what was redirected.
    const before = params.redirectResponse && requests.get(params.requestId);
    if (before) {
      answered(before.entry, params.redirectResponse);
      before.entry.response.redirectURL = params.request.url;
      before.entry.time = (params.timestamp - before.timestamp) * 1000;
    }
    begin(params);
  },
  'Network.responseReceived': (params) => {
    const known = requests.get(params.requestId);
    if (known) answered(known.entry, params.response);
  },
  'Network.loadingFinished': (params) => {
    const known = requests.get(params.requestId);
    if (!known) return;
    known.entry.time = (params.timestamp - known.timestamp) * 1000;
    if (known.entry._resourceType === 'document') {
      bodies.push(call('Network.getResponseBody', { requestId: params.requestId }).then((body) => {
        if (!body.base64Encoded) known.entry.response.content.text = body.body;
      }, () => {}));
    }
  },
};
let loaded = () => {};
handlers['Page.loadEventFired'] = () => loaded();

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
function page(act) {
  const done = new Promise((resolve) => { loaded = resolve; });
  return act().then(() => done);
}
const run = (expression) => call('Runtime.evaluate', { expression });

const open = (path) => page(() => call('Page.navigate', { url: url + path }));
const fill = (field, text) => run(`document.querySelector('[name=${field}]').value='${text}'`);
const submit = () => page(() => run('document.forms[0].submit()'));
const click = (button) => page(() => run(`document.querySelector('[name=${button}]').click()`));
const walks = {
  shop: async () => {
    await open('login');
    await pause(pauseMs);
    await fill('user', 'anna');
    await fill('password', 'pear tree 77');
    await submit();
    await pause(pauseMs);
    await submit();
    await submit();
  },
  wiki: async () => {
    await open('index.php?title=Special:UserLogin');
    await pause(pauseMs);
    await fill('wpName', 'Admin');
    await fill('wpPassword', 'quince and medlar');
    await click('wploginattempt');
    await pause(pauseMs);
    await open('index.php?title=Recorded&action=edit');
    await pause(pauseMs);
    await fill('wpTextbox1', 'Written by a browser.');
    await click('wpSave');
  },
};

(async () => {
  const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
  const attached = await call('Target.attachToTarget', { targetId, flatten: true });
  session = attached.sessionId;
  await call('Network.enable', { maxPostDataSize: 1 << 20 });
  await call('Page.enable');
  await walks[walk]();
  await Promise.all(bodies);
  fs.writeFileSync(output, JSON.stringify({ log: { version: '1.2', creator: { name: 'record_har.js', version: '1' }, entries } }, null, 1));
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

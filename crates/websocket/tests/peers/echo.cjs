// The other end of tests/it/others.rs, by Node's `ws`.
//
//     echo.cjs serve                    echoes; prints its port
//     echo.cjs drive URL COUNT SEED     sends so many random messages and wants each back
'use strict';
const { WebSocket, WebSocketServer } = require('ws');
const assert = require('node:assert');

const [, , role, url, count, seed] = process.argv;

// mulberry32 (T. Ettinger, public domain).
let state = Number(seed) >>> 0;
const draw = (below) => {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) % below;
};

const bytes = (length) => Buffer.from(Array.from({ length }, () => draw(256)));
const text = (length) => Array.from({ length }, () => [...'aé€𝄞 z'][draw(6)]).join('');

const send = (socket) => {
  const length = draw([1, 2, 126, 127, 301, 3001, 66001][draw(7)]);
  const binary = draw(2) === 1;
  const whole = binary ? bytes(length) : Buffer.from(text(length));
  const most = draw(2) === 1 ? whole.length || 1 : Math.max(1, Math.floor(whole.length / (1 + draw(11))));
  // Parts may cut a character: the message is text all the same.
  for (let at = 0, fin = false; !fin; at += most) {
    fin = at + most >= whole.length;
    socket.send(whole.subarray(at, at + most), { binary, fin });
  }
  return { whole, binary };
};

const drive = (perMessageDeflate) => new Promise((resolve, reject) => {
  const socket = new WebSocket(url, { perMessageDeflate });
  let left = Number(count);
  let wanted = [];
  let ping;
  const batch = () => {
    if (left <= 0) return socket.close(4000, 'done, 好');
    for (let n = Math.min(8, left); n > 0; n -= 1) wanted.push(send(socket));
    ping = bytes(draw(126));
    socket.ping(ping);
    left -= 8;
  };
  const go = () => wanted.length === 0 && ping === undefined && batch();
  socket.on('open', batch);
  socket.on('message', (whole, binary) => {
    const want = wanted.shift();
    assert.deepStrictEqual({ whole, binary }, want);
    go();
  });
  socket.on('pong', (pong) => {
    assert.deepStrictEqual(pong, ping);
    ping = undefined;
    go();
  });
  socket.on('error', reject);
  socket.on('close', (code) => (code === 4000 ? resolve() : reject(new Error(`closed: ${code}`))));
});

if (role === 'drive') {
  drive(false)
    .then(() => drive({ threshold: 0 }))
    .then(() => drive({ threshold: 0, serverNoContextTakeover: true, clientMaxWindowBits: 10 }));
} else {
  const perMessageDeflate = { threshold: 0 };
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate }, () => {
    console.log(server.address().port);
  });
  server.on('connection', (socket) => {
    socket.on('message', (whole, binary) => socket.send(whole, { binary }));
  });
}

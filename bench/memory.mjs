// Resident memory of each service with idle connections, streams and large requests open: node bench/memory.mjs [connections] [streams] [requests]
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LOCAL } from '../scripts/local/project.mjs';
import { removeStack, startStack } from '../scripts/local/stack.ts';

const [connections = 5_000, streams = 200, requests = 40] = process.argv.slice(2).map(Number);
const PROGRAMS = ['gateway', 'inference-proxy', 'billing', 'catalog', 'nats'];
const dataDir = join(LOCAL, `test-${randomUUID()}`);
const stack = await startStack({
  dataDir,
  durable: false,
  quiet: true,
  serviceEnv: { gateway: { FREE_REQUESTS_PER_SECOND: '1000000' } },
  demo: { usd: '100000.00', requestsPerMinute: 100_000, concurrency: 20_000 },
});
const port = Number(new URL(stack.gatewayUrl).port);
const head = `host: x\r\nauthorization: Bearer ${stack.apiKey}\r\n`;
const balance = `GET /v1/balance HTTP/1.1\r\n${head}\r\n`;
const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'iVBORw0KGgoA'.padEnd(4e6, 'A')}` } };
const waiting = generation({ model: 'sim-vision', messages: [user([{ type: 'text', text: '[[sim ttft=40000]]' }, image, image])] });

function user(content) {
  return { role: 'user', content };
}

function generation(request) {
  const body = JSON.stringify({ stream: true, ...request });
  return `POST /v1/chat/completions HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** Opens `count` connections that send `text`, `together` at a time. Resolves when each has the first bytes of its reply. */
async function open(count, text, together = 50) {
  const sockets = [];
  const one = async () => {
    while (sockets.length < count) {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      sockets.push(socket);
      const answered = new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
      socket.write(text);
      await answered;
      socket.resume();
    }
  };
  await Promise.all(Array.from({ length: together }, one));
  return sockets;
}

let before;
/** Prints current and peak MB, and the kB that each of `count` added. */
async function report(title, count) {
  await delay(3_000);
  const now = Object.fromEntries(PROGRAMS.map((name) => [name, readFileSync(`/proc/${stack.pid(name)}/status`, 'utf8')]));
  const kb = (name, field, from = now) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(from[name])[1]);
  const cells = PROGRAMS.map((name) => {
    const each = count ? ` (${((kb(name, 'VmRSS') - kb(name, 'VmRSS', before)) / count).toFixed(1)} kB each)` : '';
    return `${name} ${(kb(name, 'VmRSS') / 1e3).toFixed()} peak ${(kb(name, 'VmHWM') / 1e3).toFixed()}${each}`;
  });
  console.log(`${title}: ${cells.join(' · ')}`);
  before = now;
}

async function close(sockets) {
  for (const socket of sockets) socket.destroy();
  await delay(10_000);
  await report('closed');
}

try {
  await close(await open(1_000, generation({ model: 'sim-fast', messages: [user('Hello [[sim tokens=20]]')] })));
  const idle = await open(connections, balance);
  await report(`${connections} idle connections`, connections);
  await close(idle);
  const running = await open(streams, generation({ model: 'sim-fast', messages: [user('Hello [[sim tokens=2000 rate=2]]')] }));
  await report(`${streams} streams`, streams);
  await close(running);
  const large = [];
  const statuses = {};
  for (let n = 0; n < requests; n++, await delay(400)) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.once('data', (data) => {
      const status = data.toString('latin1', 9, 12);
      statuses[status] = (statuses[status] ?? 0) + 1;
    });
    socket.write(waiting);
    large.push(socket);
  }
  await report(`${requests} requests of 8 MB before their first content, answered ${JSON.stringify(statuses)}`, requests);
  await close(large);
} finally {
  await stack.stop();
  removeStack(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
}

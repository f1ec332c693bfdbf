// Resident memory of each service by what clients have open: node bench/memory.mjs [connections] [streams]
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LOCAL } from '../scripts/local/project.mjs';
import { removeStack, startStack } from '../scripts/local/stack.mjs';

const [connections = 5_000, streams = 1_000] = process.argv.slice(2).map(Number);
const PROGRAMS = ['gateway', 'inference-proxy', 'billing', 'catalog', 'nats'];
const dataDir = join(LOCAL, `test-${randomUUID()}`);
const stack = await startStack({ dataDir, durable: false, quiet: true, serviceEnv: { gateway: { FREE_REQUESTS_PER_SECOND: '1000000' } }, demo: { requestsPerMinuteMax: 100_000, concurrencyMax: 20_000 } });
const port = Number(new URL(stack.gatewayUrl).port);
const head = `host: x\r\nauthorization: Bearer ${stack.apiKey}\r\n`;
const balance = `GET /v1/balance HTTP/1.1\r\n${head}\r\n`;
const generation = (words) => {
  const body = JSON.stringify({ model: 'sim-fast', stream: true, messages: [{ role: 'user', content: words }] });
  return `POST /v1/chat/completions HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
};

/** Opens `count` connections that send `text`, 50 at a time; resolves when each has a first piece of its reply. */
async function open(count, text) {
  const sockets = [];
  const one = async () => {
    while (sockets.length < count) {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      sockets.push(socket);
      await new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('no reply within 60 s')), 60_000);
        socket.write(text);
        socket.once('data', (data) => {
          clearTimeout(timer);
          const status = data.toString('latin1', 9, 12);
          if (status === '200') resolve();
          else reject(new Error(data.toString()));
        });
      });
      socket.resume();
    }
  };
  await Promise.all(Array.from({ length: 50 }, one));
  return sockets;
}

function resident() {
  const read = (name) => {
    const status = readFileSync(`/proc/${stack.pid(name)}/status`, 'utf8');
    return ['VmRSS', 'VmHWM'].map((field) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)[1]) / 1024);
  };
  return Object.fromEntries(PROGRAMS.map((name) => [name, read(name)]));
}

let before;
/** Prints MB, and kB by each of `count`. */
async function report(title, count) {
  await delay(3_000);
  const now = resident();
  const cells = PROGRAMS.map((name) => {
    const each = count ? ` (${(((now[name][0] - before[name][0]) * 1024) / count).toFixed(1)} kB each)` : '';
    return `${name} ${now[name][0].toFixed()} peak ${now[name][1].toFixed()}${each}`;
  });
  console.log(`${title}: ${cells.join(' · ')}`);
  before = now;
}

try {
  await report('after the start');
  for (let round = 0; round < 4; round++) {
    for (const socket of await open(500, generation('Hello [[sim tokens=20]]'))) socket.destroy();
  }
  await delay(10_000);
  await report('after 2,000 requests');
  const idle = await open(connections, balance);
  await report(`${connections} idle connections`, connections);
  for (const socket of idle) socket.destroy();
  await delay(10_000);
  await report('closed');
  const running = await open(streams, generation('Hello [[sim tokens=2000 rate=2]]'));
  await report(`${streams} streams`, streams);
  await delay(20_000);
  await report('20 s later');
  for (const socket of running) socket.destroy();
  await delay(10_000);
  await report('closed');
} finally {
  await stack.stop();
  removeStack(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
}

/**
 * A collector of traces that keeps nothing: node bench/trace-sink.mjs PORT [hang | slow | hostile]. It is a process of its own, so that its
 * work does not delay the benchmark's. `hang` never answers, `slow` after seconds, `hostile` with junk, an error, or bytes without end.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const SLOW_MS = 3_000;
const JUNK = Buffer.alloc(64 * 1024, '{"');

const [port, kind = 'good'] = process.argv.slice(2);
let exports = 0;

/** @type {Record<string, (response: import('node:http').ServerResponse) => unknown>} */
const answers = {
  good: (response) => response.end(),
  hang: () => {},
  slow: (response) => delay(SLOW_MS).then(() => response.end()),
  hostile: (response) => [junk, refusal, endless][exports++ % 3]?.(response),
};

createServer(async (request, response) => {
  await once(request.resume(), 'end');
  if (request.method === 'POST') answers[kind]?.(response);
  else response.end(); // the benchmark asks whether this listens
}).listen(Number(port), '127.0.0.1');

/** @param {import('node:http').ServerResponse} response */
function junk(response) {
  response.end(JUNK);
}

/** @param {import('node:http').ServerResponse} response */
function refusal(response) {
  response.writeHead(500).end(JUNK);
}

/** @param {import('node:http').ServerResponse} response */
async function endless(response) {
  while (!response.destroyed) {
    response.write(JUNK);
    await delay(50);
  }
}

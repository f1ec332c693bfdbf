import { Worker } from 'node:worker_threads';
import { createLogger } from '#observability/logger.js';
import { startBodyWorker } from '../../../test/test-gateway.js';
import { BodyWorkers } from './body-workers.js';
import type { WorkOwner } from './fair-queue.js';
import { ClientDisconnectedError } from './read-body.js';

const LIMITS = { bodyWorkers: 1, bodyWorkerHeapMb: 64 };
const logger = createLogger('test', 'silent');

/** A worker that runs the body as a program and answers with its result as the model. */
const PROGRAM = `
  const { parentPort } = require('node:worker_threads');
  parentPort.on('message', async ({ body }) => {
    const model = await eval(Buffer.from(body).toString());
    parentPort.postMessage({ parsed: { summary: { model }, replyOptions: {}, json: new Uint8Array(0) } });
  });`;

let workers: BodyWorkers;
let started: number;

beforeEach(() => use());
afterEach(() => workers.onApplicationShutdown());

function use(bodyWorkers = 1, bodyWorkerHeapMb = 64): void {
  started = 0;
  workers = new BodyWorkers({ bodyWorkers, bodyWorkerHeapMb }, logger, (heapMb) => {
    started++;
    return new Worker(PROGRAM, { eval: true, resourceLimits: { maxOldGenerationSizeMb: heapMb } });
  });
}

const owner = (accountId: string, keyId = accountId): WorkOwner => ({ accountId, keyId });

async function run(program: string, of = owner('a'), signal = new AbortController().signal): Promise<string> {
  const { summary } = await workers.parse('chat', Buffer.from(program), of, signal);
  return summary.model;
}

test('threads start on demand up to the limit, and are reused', async () => {
  use(2);
  expect(started).toBe(0);
  expect(await run("'first'")).toBe('first');
  expect(started).toBe(1);
  const keys = ['b', 'c', 'd', 'e'];
  expect(await Promise.all(keys.map((key) => run(`'${key}'`, owner(key))))).toEqual(keys);
  expect(started).toBe(2);
});

test.each([
  ['exits', 'process.exit(1)'],
  ['throws outside of its job', 'setImmediate(() => { throw new Error("bad") }); new Promise(() => {})'],
  ['runs out of memory', 'const kept = []; for (;;) kept.push(new Array(1e5).fill(kept.length))'],
])('a thread that %s fails only its own job, and is replaced', async (_name, program) => {
  const [failed, next] = [run(program), run("'next'")];
  await expect(failed).rejects.toMatchObject({ code: 'internal_error' });
  expect([await next, started]).toEqual(['next', 2]);
});

test('a thread that dies between two jobs is replaced', async () => {
  await run("setTimeout(() => process.exit(1), 1); 'done'");
  while (started === 1) expect(await run("'again'").catch(() => 'again')).toBe('again');
  expect(await run("'again'")).toBe('again');
});

test('bodies of one key are parsed one at a time, those of other keys concurrently [limit-stall]', async () => {
  use(2);
  const order: string[] = [];
  const note = async (name: string, keyId: string, program: string): Promise<void> => {
    order.push(await run(`${program}.then(() => '${name}')`, owner('a', keyId)));
  };
  // The slow body waits until the other one has been parsed.
  const slow = `new Promise((resolve) => {
    const channel = new BroadcastChannel('body-workers');
    channel.onmessage = () => resolve(channel.close());
  })`;
  const channel = new BroadcastChannel('body-workers');
  let timer: NodeJS.Timeout | undefined;
  const other = note('other', 'other', 'Promise.resolve()').then(() => {
    timer = setInterval(() => channel.postMessage('go'), 5);
  });
  await Promise.all([note('slow', 'key', slow), note('same key', 'key', 'Promise.resolve()'), other]);
  clearInterval(timer);
  channel.close();
  expect(order).toEqual(['other', 'slow', 'same key']);
});

test('a waiting body is dropped when its client disconnects', async () => {
  const client = new AbortController();
  const first = run('new Promise((resolve) => setTimeout(() => resolve("first"), 100))');
  const left = run("'left'", owner('b'), client.signal);
  expect(workers.waiting).toBe(1);
  client.abort();
  await expect(left).rejects.toThrow(ClientDisconnectedError);
  expect([workers.waiting, await first]).toEqual([0, 'first']);
});

test('a body whose client disconnects during parsing is abandoned, and the next one waits for the thread', async () => {
  const client = new AbortController();
  const left = run('new Promise((resolve) => setTimeout(() => resolve("left"), 100))', owner('a'), client.signal);
  const next = run("'next'", owner('b'));
  client.abort();
  await expect(left).rejects.toThrow(ClientDisconnectedError);
  expect([workers.waiting, await next, started]).toEqual([1, 'next', 1]);
});

describe('the real thread', () => {
  const parse = (text: string) => workers.parse('chat', Buffer.from(text), owner('a'), new AbortController().signal);

  beforeEach(() => {
    workers = new BodyWorkers({ ...LIMITS, bodyWorkerHeapMb: 256 }, logger, startBodyWorker);
  });

  test('transfers the body and its result', async () => {
    const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"Hi"}]}'.padEnd(100_000));
    const parsed = await workers.parse('chat', body, owner('a'), new AbortController().signal);
    expect([body.length, JSON.parse(Buffer.from(parsed.json).toString()).turns]).toEqual([
      0,
      [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
    ]);
    expect(parsed.summary).toEqual({
      model: 'm',
      stream: false,
      maxOutputTokens: undefined,
      size: { textBytes: 2, schemaBytes: 0, reasoningBytes: 0, signatureBytes: 0, images: 0 },
    });
  });

  test('refuses with the same error as the main thread', async () => {
    await expect(parse('{"model":1}')).rejects.toMatchObject({
      name: 'GatewayError',
      code: 'invalid_request',
      status: 400,
      param: 'model',
      message: '`model` is required and must be a string that is not empty.',
    });
    await expect(parse('{"model":')).rejects.toMatchObject({
      code: 'invalid_json',
      message: expect.stringContaining('Unexpected end of JSON input'),
    });
  });
});

/**
 * The load generator, a process that runs the jobs of its parent. Each connection has one request in progress and starts the next when
 * the reply has ended. Every reply is checked; one in 64 is parsed and compared completely.
 */
import { Client } from 'undici';

/**
 * @typedef {{ origins: string[], path: string, headers: Record<string, string>, body: string, text: string, stream: boolean,
 *   connections: number, seconds: number, sessions?: number }} Job
 * @typedef {{ requests: number, seconds: number, p50: number, p99: number, errors: number, firstError?: string }} Outcome
 */

const CONNECT_ERRORS_MAX = 100;
const DONE = Buffer.from('data: [DONE]\n\n');

process.on('message', (/** @type {Job} */ job) => {
  runJob(job).then(
    (outcome) => process.send?.(outcome),
    (error) => process.send?.({ requests: 0, seconds: 1, p50: 0, p99: 0, errors: 1, firstError: String(error) }),
  );
});

/** @param {Job} job @returns {Promise<Outcome>} */
async function runJob(job) {
  const pickOrigin = (/** @type {number} */ index) => job.origins[index % job.origins.length] ?? '';
  const clients = Array.from(
    { length: job.connections },
    (_, index) => new Client(pickOrigin(index), { pipelining: 1, keepAliveTimeout: 60_000 }),
  );
  const tally = new Tally(job);
  await Promise.all(clients.map((client) => once(client, tally))); // connects; not measured
  process.send?.('connected');
  tally.begin();
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < tally.deadline && tally.errors < CONNECT_ERRORS_MAX) await once(client, tally);
    }),
  );
  await Promise.all(clients.map((client) => client.destroy()));
  return tally.outcome();
}

/** Sends one request. Resolves when its reply has ended, also on failure. @param {Client} client @param {Tally} tally @returns {Promise<void>} */
function once(client, tally) {
  const { path, body } = tally.job;
  const headers = tally.nextHeaders();
  return new Promise((resolve) => {
    const started = performance.now();
    /** @type {Buffer[]} */
    const parts = [];
    let status = 0;
    client.dispatch(
      { path, method: 'POST', headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code;
        },
        onResponseData(_controller, part) {
          parts.push(part);
        },
        onResponseEnd() {
          tally.add(started, status, parts);
          resolve();
        },
        onResponseError(_controller, error) {
          tally.fail(error.message);
          resolve();
        },
      },
    );
  });
}

class Tally {
  errors = 0;
  /** @type {string | undefined} */
  firstError;
  /** @type {number[]} */
  latencies = [];
  finishedInTime = 0;
  checked = 0;
  named = 0;
  deadline = Number.POSITIVE_INFINITY;

  /** @param {Job} job */
  constructor(job) {
    this.job = job;
  }

  /** Headers of the next request, which names the next of the job's sessions. */
  nextHeaders() {
    const { headers, sessions } = this.job;
    return sessions === undefined ? headers : { ...headers, 'x-session-id': `run-${this.named++ % sessions}` };
  }

  begin() {
    this.latencies = [];
    this.finishedInTime = 0;
    this.deadline = performance.now() + this.job.seconds * 1_000;
  }

  /** @param {number} started @param {number} status @param {Buffer[]} parts */
  add(started, status, parts) {
    const now = performance.now();
    const fault = this.fault(status, parts);
    if (fault) return this.fail(fault);
    this.latencies.push(now - started);
    if (now <= this.deadline) this.finishedInTime++;
  }

  /** @param {string} message */
  fail(message) {
    this.errors++;
    this.firstError ??= message;
  }

  /** Returns the fault of a reply, if any. @param {number} status @param {Buffer[]} parts */
  fault(status, parts) {
    if (status !== 200) return `status ${status}: ${Buffer.concat(parts).toString('utf8', 0, 300)}`;
    if (this.job.stream && !endsDone(parts)) return 'a stream without [DONE] at its end';
    if (this.checked++ % 64 !== 0) return undefined;
    const body = Buffer.concat(parts).toString('utf8');
    return (this.job.stream ? streamText(body) : plainText(body)) === this.job.text ? undefined : `another text: ${body.slice(0, 300)}`;
  }

  /** @returns {Outcome} */
  outcome() {
    const sorted = this.latencies.sort((a, b) => a - b);
    const at = (/** @type {number} */ share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    const { errors, firstError } = this;
    return { requests: this.finishedInTime, seconds: this.job.seconds, p50: at(0.5), p99: at(0.99), errors, firstError };
  }
}

/** @param {Buffer[]} parts */
function endsDone(parts) {
  let tail = parts.at(-1) ?? Buffer.alloc(0);
  if (tail.length < DONE.length) tail = Buffer.concat(parts.slice(-DONE.length));
  return tail.length >= DONE.length && tail.subarray(-DONE.length).equals(DONE);
}

/** @param {string} body */
function streamText(body) {
  return body
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)).choices[0]?.delta.content ?? '')
    .join('');
}

/** @param {string} body */
function plainText(body) {
  return JSON.parse(body).choices?.[0]?.message?.content;
}

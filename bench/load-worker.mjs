/**
 * The load generator, a process that runs the jobs of its parent. Each connection has one request in progress. In a closed loop it starts
 * the next when the reply has ended; in an open loop, requests start at times of their own. Every reply is checked; one in 64 is parsed and
 * compared completely.
 */
import { Client } from 'undici';
import { poissonArrivals, sendOnSchedule } from './open-loop.mjs';
import { quantile } from './quantile.mjs';

/**
 * `arrivals` makes it an open loop: `rate` requests a second, of which those of the first `leadSeconds` are not measured. With
 * `countUsage` the outcome has how many replies had each usage.
 *
 * @typedef {{ rate: number, seed: number, leadSeconds: number, giveUpMs: number }} Arrivals
 * @typedef {{ origins: string[], path: string, headers: Record<string, string>, body: string, text: string, stream: boolean,
 *   connections: number, seconds: number, sessions?: number, arrivals?: Arrivals, countUsage?: boolean }} Job
 * @typedef {{ requests: number, seconds: number, p50: number, p99: number, errors: number, firstError?: string, answered: number,
 *   usages?: Record<string, number>, open?: OpenOutcome }} Outcome
 *   `requests` ended in the measured time, `answered` is all of them; `usages`: prompt/cached/output tokens → replies
 * @typedef {{ p90: number, p999: number, max: number, firstByteP99: number, lateP99: number, unsent: number, connectionsUsed: number,
 *   cores: number }} OpenOutcome
 *   `lateP99`: milliseconds from the time at which a request was due until it was sent; `cores`: processor time of the load generator
 */

const CONNECT_ERRORS_MAX = 100;
const DONE = Buffer.from('data: [DONE]\n\n');
/** The usage is within so many last bytes of a reply. */
const TAIL_BYTES = 2_048;

process.on('message', (/** @type {Job} */ job) => {
  runJob(job).then(
    (outcome) => process.send?.(outcome),
    (error) => process.send?.({ requests: 0, seconds: 1, p50: 0, p99: 0, errors: 1, firstError: String(error), answered: 0 }),
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
  const open = job.arrivals === undefined ? await closedLoop(clients, tally) : await openLoop(clients, tally, job.arrivals);
  await Promise.all(clients.map((client) => client.destroy()));
  return { ...tally.outcome(), ...(open && { open }) };
}

/** @param {Client[]} clients @param {Tally} tally @returns {Promise<undefined>} */
async function closedLoop(clients, tally) {
  tally.begin();
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < tally.deadline && tally.errors < CONNECT_ERRORS_MAX) await once(client, tally);
    }),
  );
}

/** @param {Client[]} clients @param {Tally} tally @param {Arrivals} options @returns {Promise<OpenOutcome>} */
async function openLoop(clients, tally, { rate, seed, leadSeconds, giveUpMs }) {
  const arrivals = poissonArrivals({ rate, seed, seconds: leadSeconds + tally.job.seconds });
  tally.begin(leadSeconds);
  const [began, before] = [performance.now(), process.cpuUsage()];
  const { unsentMs, slotsUsed } = await sendOnSchedule({
    arrivals,
    giveUpMs,
    slots: clients,
    send: (client, due) => once(client, tally, due),
  });
  const used = process.cpuUsage(before);
  const cores = (used.user + used.system) / 1_000 / (performance.now() - began);
  tally.latencies.push(...unsentMs);
  const [latencies, firsts, lates] = [tally.latencies, tally.firsts, tally.lates].map((times) => Float64Array.from(times).sort());
  return {
    p90: quantile(latencies, 0.9),
    p999: quantile(latencies, 0.999),
    max: quantile(latencies, 1),
    firstByteP99: quantile(firsts, 0.99),
    lateP99: quantile(lates, 0.99),
    unsent: unsentMs.length,
    connectionsUsed: slotsUsed,
    cores,
  };
}

/**
 * Sends one request, whose latency counts from `due`. Resolves when its reply has ended, also on failure.
 *
 * @param {Client} client @param {Tally} tally @param {number} [due] @returns {Promise<void>}
 */
function once(client, tally, due) {
  const { path, body } = tally.job;
  const headers = tally.nextHeaders();
  return new Promise((resolve) => {
    const now = performance.now();
    const started = due ?? now;
    if (due !== undefined && due >= tally.from) tally.lates.push(now - due);
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
          if (due !== undefined && parts.length === 0 && due >= tally.from) tally.firsts.push(performance.now() - due);
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
  /** Milliseconds from the time a request was due until it was sent, and until the first byte of its reply. @type {number[]} */
  lates = [];
  /** @type {number[]} */
  firsts = [];
  finishedInTime = 0;
  answered = 0;
  checked = 0;
  named = 0;
  from = 0;
  deadline = Number.POSITIVE_INFINITY;
  /** @type {Map<string, number>} */
  usages = new Map();

  /** @param {Job} job */
  constructor(job) {
    this.job = job;
  }

  /** Headers of the next request, which names the next of the job's sessions. */
  nextHeaders() {
    const { headers, sessions } = this.job;
    return sessions === undefined ? headers : { ...headers, 'x-session-id': `run-${this.named++ % sessions}` };
  }

  /** Measures what is due from now, or from `leadSeconds` later. */
  begin(leadSeconds = 0) {
    this.latencies = [];
    this.finishedInTime = 0;
    this.answered = 0;
    this.from = performance.now() + leadSeconds * 1_000;
    this.deadline = this.from + this.job.seconds * 1_000;
  }

  /** @param {number} started @param {number} status @param {Buffer[]} parts */
  add(started, status, parts) {
    const now = performance.now();
    const fault = this.fault(status, parts);
    if (fault) return this.fail(fault);
    this.answered++;
    if (this.job.countUsage && !this.countUsage(parts)) return this.fail('a reply without its usage');
    if (started < this.from) return;
    this.latencies.push(now - started);
    if (now <= this.deadline) this.finishedInTime++;
  }

  /** False without a usage. @param {Buffer[]} parts */
  countUsage(parts) {
    const usage = readUsage(parts);
    if (usage === undefined) return false;
    this.usages.set(usage, (this.usages.get(usage) ?? 0) + 1);
    return true;
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
    const sorted = Float64Array.from(this.latencies).sort();
    const { errors, firstError, answered } = this;
    return {
      ...{ requests: this.finishedInTime, seconds: this.job.seconds, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) },
      ...{ errors, firstError, answered },
      ...(this.job.countUsage && { usages: Object.fromEntries(this.usages) }),
    };
  }
}

/** Tokens that a reply says it used, as `prompt/cached/output`. @param {Buffer[]} parts */
function readUsage(parts) {
  let length = 0;
  let first = parts.length;
  while (first > 0 && length < TAIL_BYTES) length += parts[--first]?.length ?? 0;
  const tail = Buffer.concat(parts.slice(first)).toString('latin1');
  const at = tail.lastIndexOf('"usage":{');
  if (at === -1) return undefined;
  const usage = tail.slice(at);
  const read = (/** @type {string} */ name) => new RegExp(`"${name}":(\\d+)`).exec(usage)?.[1];
  const [prompt, cached = '0', output] = ['prompt_tokens', 'cached_tokens', 'completion_tokens'].map(read);
  return prompt && output ? `${prompt}/${cached}/${output}` : undefined;
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

/**
 * The load generator of the streaming benchmark, a process of its own. A job is either `full`: so many connections, each reading one
 * stream after another as fast as it comes; or `paced`: so many streams at once, each of `rate` tokens a second, of which it is
 * noted how late every token is.
 */
import { Client } from 'undici';

/**
 * @typedef {{ kind: 'full' | 'paced', origin: string, headers: Record<string, string>, streams: number, tokens: number,
 *   rate: number, seconds: number }} Job
 * @typedef {{ tokensPerSecond: number, streams: number, firstMs: number[], lateMs: number[], errors: number, firstError?: string }} Outcome
 */

const MARK = Buffer.from('"content":"');
const QUOTE = 0x22;
const END_OF_EVENT = Buffer.from('\n\n');
/** Of the simulator. */
const BYTES_PER_TOKEN = 4;
const DONE = Buffer.from('data: [DONE]');

process.on('message', (/** @type {Job} */ job) => {
  const work = job.kind === 'full' ? fullSpeed(job) : paced(job);
  work.then(
    (outcome) => process.send?.(outcome),
    (error) => process.send?.({ tokensPerSecond: 0, streams: 0, firstMs: [], lateMs: [], errors: 1, firstError: String(error) }),
  );
});

/** @param {Job} job @returns {Promise<Outcome>} */
async function fullSpeed(job) {
  const tally = newTally();
  const end = performance.now() + job.seconds * 1_000;
  let tokens = 0;
  const begin = performance.now();
  await eachConnection(job, async (client) => {
    while (performance.now() < end) {
      await stream(client, job, tally, (count) => {
        if (performance.now() <= end) tokens += count;
      });
    }
  });
  return { ...tally, tokensPerSecond: tokens / ((Math.min(end, performance.now()) - begin) / 1_000) };
}

/** Streams begin evenly over one second, so that their tokens do not come in step. @param {Job} job @returns {Promise<Outcome>} */
async function paced(job) {
  const tally = newTally();
  const gapMs = 1_000 / job.rate;
  let tokens = 0;
  const begin = performance.now();
  await eachConnection(job, async (client, number) => {
    await new Promise((resolve) => setTimeout(resolve, (number * 1_000) / job.streams));
    const started = performance.now();
    let seen = 0;
    await stream(client, job, tally, (count) => {
      const now = performance.now();
      for (let index = 0; index < count; index++) tally.lateMs.push(now - (started + seen++ * gapMs));
      tokens += count;
    });
  });
  return { ...tally, tokensPerSecond: tokens / ((performance.now() - begin) / 1_000) };
}

/** @returns {Omit<Outcome, 'tokensPerSecond'>} */
function newTally() {
  return { streams: 0, firstMs: [], lateMs: [], errors: 0, firstError: undefined };
}

/** @param {Job} job @param {(client: Client, number: number) => Promise<void>} run */
async function eachConnection(job, run) {
  const clients = Array.from({ length: job.streams }, () => new Client(job.origin, { pipelining: 1, keepAliveTimeout: 60_000 }));
  await Promise.all(clients.map(run));
  await Promise.all(clients.map((client) => client.destroy()));
}

/**
 * One stream, read to its end. `onTokens` is told how many tokens a read brought.
 *
 * @param {Client} client @param {Job} job @param {Omit<Outcome, 'tokensPerSecond'>} tally @param {(count: number) => void} onTokens
 * @returns {Promise<void>}
 */
function stream(client, job, tally, onTokens) {
  const pace = job.kind === 'paced' ? ` rate=${job.rate}` : '';
  const body = JSON.stringify({
    model: 'sim-fast',
    stream: true,
    max_tokens: job.tokens,
    messages: [{ role: 'user', content: `Tell me something. [[sim tokens=${job.tokens}${pace}]]` }],
  });
  const started = performance.now();
  const counter = new TokenCount();
  let received = 0;
  let status = 0;
  /** @type {Buffer} */
  let tail = Buffer.alloc(0);
  return new Promise((resolve) => {
    const fail = (/** @type {string} */ fault) => {
      tally.errors++;
      tally.firstError ??= fault;
      resolve();
    };
    client.dispatch(
      { path: '/v1/chat/completions', method: 'POST', headers: job.headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code;
        },
        onResponseData(_controller, chunk) {
          if (status !== 200) return;
          const count = counter.take(chunk);
          if (count > 0 && received === 0) tally.firstMs.push(performance.now() - started);
          received += count;
          if (count > 0) onTokens(count);
          tail = chunk;
        },
        onResponseEnd() {
          if (status !== 200) return fail(`status ${status}`);
          if (received !== job.tokens) return fail(`${received} tokens instead of ${job.tokens}`);
          if (!tail.includes(DONE)) return fail('no [DONE] at its end');
          tally.streams++;
          resolve();
        },
        onResponseError(_controller, error) {
          fail(error.message);
        },
      },
    );
  });
}

/** Tokens by the bytes of content, since a middle may join pieces. */
class TokenCount {
  /** The event that the last packet cut in two. */
  rest = Buffer.alloc(0);

  /** @param {Buffer} packet @returns {number} */
  take(packet) {
    const bytes = this.rest.length === 0 ? packet : Buffer.concat([this.rest, packet]);
    const whole = bytes.lastIndexOf(END_OF_EVENT) + END_OF_EVENT.length;
    if (whole < END_OF_EVENT.length) {
      this.rest = bytes;
      return 0;
    }
    this.rest = bytes.subarray(whole);
    let count = 0;
    for (let at = bytes.indexOf(MARK); at !== -1 && at < whole; at = bytes.indexOf(MARK, at)) {
      at += MARK.length;
      count += bytes.indexOf(QUOTE, at) - at;
    }
    return count / BYTES_PER_TOKEN;
  }
}

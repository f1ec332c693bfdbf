/**
 * The load generator of the streaming benchmark, a process of its own. A job is either `full`: so many connections, each reading one
 * stream after another as fast as it comes; or `paced`: so many streams at once, each of `rate` tokens a second, of which it is
 * noted how late every token is, by the upstream's own clock.
 */
import { Connection } from './connection.mjs';

/**
 * `seconds`: of a full-speed job, how long; of a paced one, over how long the streams begin.
 *
 * @typedef {{ kind: 'full' | 'paced', origin: string, headers: Record<string, string>, streams: number, tokens: number,
 *   rate: number, seconds: number }} Job
 * @typedef {{ tokens: number, tokensPerSecond: number, streams: number, firstMs: number[], lateMs: number[], errors: number,
 *   firstError?: string }} Outcome
 */

const MARK = Buffer.from('"content":"');
const QUOTE = 0x22;
const END_OF_EVENT = Buffer.from('\n\n');
/** Of the simulator. */
const BYTES_PER_TOKEN = 4;
const DONE = Buffer.from('data: [DONE]');
const NOTHING = Buffer.alloc(0);
/** What a text begins with that says when its stream began (the simulator's directive `clock`). */
const CLOCK_BYTES = 16;
const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;
/** After the last stream has begun, until tokens are counted. */
const SETTLE_MS = 1_000;

process.on('message', (/** @type {Job} */ job) => {
  const work = job.kind === 'full' ? fullSpeed(job) : paced(job);
  work.then(
    (outcome) => process.send?.(outcome),
    (error) => process.send?.({ tokens: 0, tokensPerSecond: 0, streams: 0, firstMs: [], lateMs: [], errors: 1, firstError: String(error) }),
  );
});

/** @param {Job} job @returns {Promise<Outcome>} */
async function fullSpeed(job) {
  const tally = newTally();
  const end = performance.now() + job.seconds * 1_000;
  let inTime = 0;
  const begin = performance.now();
  await eachConnection(job, async (connection) => {
    while (performance.now() < end) {
      await stream(connection, job, tally, (count) => {
        if (performance.now() <= end) inTime += count;
      });
    }
  });
  return { ...tally, tokensPerSecond: inTime / ((Math.min(end, performance.now()) - begin) / 1_000) };
}

/**
 * Streams begin evenly over `seconds`, and every one says when it began: token n was due n gaps after that. Counted is what was due
 * while all streams were under way.
 *
 * @param {Job} job @returns {Promise<Outcome>}
 */
async function paced(job) {
  const tally = newTally();
  const gapMs = 1_000 / job.rate;
  const begin = clockMs();
  const from = begin + job.seconds * 1_000 + gapMs + SETTLE_MS;
  const to = begin + job.tokens * gapMs;
  await eachConnection(job, async (connection, number) => {
    const phase = (number * GOLDEN_RATIO) % 1; // spreads the tokens evenly, whatever the number of streams
    await new Promise((resolve) => setTimeout(resolve, (number * job.seconds * 1_000) / job.streams + phase * gapMs));
    let seen = 0;
    await stream(connection, job, tally, (count, startedMs) => {
      const now = clockMs();
      for (const last = seen + count; seen < last; seen++) {
        const due = startedMs + seen * gapMs;
        if (from <= due && due < to) tally.lateMs.push(now - due);
      }
    });
  });
  return { ...tally, tokensPerSecond: tally.lateMs.length / ((to - from) / 1_000) };
}

/** Of the clock that all processes of the machine share. */
function clockMs() {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** @returns {Omit<Outcome, 'tokensPerSecond'>} */
function newTally() {
  return { tokens: 0, streams: 0, firstMs: [], lateMs: [], errors: 0, firstError: undefined };
}

/** @param {Job} job @param {(connection: Connection, number: number) => Promise<void>} run */
async function eachConnection(job, run) {
  const connections = Array.from({ length: job.streams }, () => new Connection(job.origin));
  await Promise.all(connections.map(run));
  for (const connection of connections) connection.close();
}

/**
 * One stream, read to its end. `onTokens` is told how many tokens a read brought, and of a paced stream when it began.
 *
 * @param {Connection} connection @param {Job} job @param {Omit<Outcome, 'tokensPerSecond'>} tally
 * @param {(count: number, startedMs: number) => void} onTokens
 * @returns {Promise<void>}
 */
async function stream(connection, job, tally, onTokens) {
  const pace = job.kind === 'paced' ? ` rate=${job.rate} clock` : '';
  const body = JSON.stringify({
    model: 'sim-fast',
    stream: true,
    max_tokens: job.tokens,
    messages: [{ role: 'user', content: `Tell me something. [[sim tokens=${job.tokens}${pace}]]` }],
  });
  const started = performance.now();
  const counter = new TokenCount();
  let received = 0;
  const fault = await connection.post('/v1/chat/completions', job.headers, body, (bytes) => {
    const count = counter.take(bytes);
    if (count === 0) return;
    if (received === 0) tally.firstMs.push(performance.now() - started);
    received += count;
    tally.tokens += count;
    onTokens(count, counter.startedMs);
  });
  const wrong =
    fault ??
    (received !== job.tokens ? `${received} tokens instead of ${job.tokens}` : counter.isDone ? undefined : 'no [DONE] at its end');
  if (wrong === undefined) tally.streams++;
  else {
    tally.errors++;
    tally.firstError ??= wrong;
  }
}

/** Tokens by the bytes of content, since a middle may join pieces. */
class TokenCount {
  /** The event that the last packet cut in two. */
  rest = NOTHING;
  clock = '';
  isDone = false;

  /** When the stream began, of a text that says so; until that is whole, now. */
  get startedMs() {
    return this.clock.length < CLOCK_BYTES ? clockMs() : Number(this.clock) / 1_000;
  }

  /** @param {Buffer} packet @returns {number} */
  take(packet) {
    const bytes = this.rest.length === 0 ? packet : Buffer.concat([this.rest, packet]);
    const whole = bytes.lastIndexOf(END_OF_EVENT) + END_OF_EVENT.length;
    if (whole < END_OF_EVENT.length) {
      this.rest = Buffer.from(bytes);
      return 0;
    }
    this.rest = whole === bytes.length ? NOTHING : Buffer.from(bytes.subarray(whole));
    this.isDone = bytes.includes(DONE);
    let count = 0;
    for (let at = bytes.indexOf(MARK); at !== -1 && at < whole; at = bytes.indexOf(MARK, at)) {
      at += MARK.length;
      const end = bytes.indexOf(QUOTE, at);
      if (this.clock.length < CLOCK_BYTES) this.clock += bytes.toString('latin1', at, Math.min(end, at + CLOCK_BYTES - this.clock.length));
      count += end - at;
    }
    return count / BYTES_PER_TOKEN;
  }
}

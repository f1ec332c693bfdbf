/**
 * The load generator of the streaming benchmark, a process of its own. A job is `full`: connections that read streams in sequence at full
 * speed; or `paced`: concurrent streams of `rate` tokens a second, which measure how late every token is by the upstream's clock.
 */
import { Connection } from './connection.mjs';

/**
 * `seconds`: duration of a full-speed job; for a paced job, the time over which its streams start.
 *
 * @typedef {{ kind: 'full' | 'paced', origin: string, headers: Record<string, string>, streams: number, tokens: number,
 *   rate: number, seconds: number }} Job
 * @typedef {{ tokens: number, tokensPerSecond: number, streams: number, firstMs: number[], lateMs: number[], errors: number,
 *   firstError?: string }} Outcome
 */

const MARK = Buffer.from('"content":"');
const QUOTE = 0x22;
const END_OF_EVENT = Buffer.from('\n\n');
/** Token size of the simulator. */
const BYTES_PER_TOKEN = 4;
const DONE = Buffer.from('data: [DONE]');
const NOTHING = Buffer.alloc(0);
/** Length of the start time at the beginning of a text (directive `clock` of the simulator). */
const CLOCK_BYTES = 16;
const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;
/** Time from the start of the last stream until tokens count. */
const RAMP_UP_MS = 1_000;

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
 * Streams start evenly over `seconds` and contain their start time: token n is due n gaps later. Only tokens that were due while all
 * streams were running count.
 *
 * @param {Job} job @returns {Promise<Outcome>}
 */
async function paced(job) {
  const tally = newTally();
  const gapMs = 1_000 / job.rate;
  const begin = clockMs();
  const from = begin + job.seconds * 1_000 + gapMs + RAMP_UP_MS;
  const to = begin + job.tokens * gapMs;
  await eachConnection(job, async (connection, number) => {
    const phase = (number * GOLDEN_RATIO) % 1; // spreads the tokens evenly for any number of streams
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

/** Monotonic time, which all processes of the machine share. */
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
 * Reads one stream to its end. Calls `onTokens` with the tokens of each read, and with the start time of a paced stream.
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

/** Counts tokens by bytes of content, because a gateway may merge pieces. */
class TokenCount {
  /** Incomplete event at the end of the last packet. */
  rest = NOTHING;
  clock = '';
  isDone = false;

  /** Start time of the stream from its text; the current time until that is complete. */
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

/**
 * Requests that arrive on a schedule, as those of many independent clients do. A client that waits for a reply before it sends again sends
 * less while the target is slow, so that the slow moments are hardly measured (coordinated omission).
 */

/**
 * Times of a Poisson process in milliseconds from its start, in order. The same seed gives the same times.
 *
 * @param {{ rate: number, seconds: number, seed: number }} options `rate` is in arrivals a second @returns {Float64Array}
 */
export function poissonArrivals({ rate, seconds, seed }) {
  const random = makeRandom(seed);
  const times = [];
  for (let at = nextGap(random, rate); at < seconds * 1_000; at += nextGap(random, rate)) times.push(at);
  return Float64Array.from(times);
}

/** Milliseconds to the next arrival. @param {() => number} random @param {number} rate */
function nextGap(random, rate) {
  return (-Math.log(1 - random()) / rate) * 1_000;
}

/** Mulberry32: numbers from 0 to below 1. @param {number} seed */
function makeRandom(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Calls `send(slot, due)` at each arrival, with a slot that is free and the time at which the arrival was due; measure latency from that
 * time. An arrival that finds no free slot waits for one, and so do those behind it. When the first of them has waited for `giveUpMs`, the
 * target is overloaded, and nothing more is sent. Resolves when all that was sent has ended.
 *
 * @template Slot
 * @param {{ arrivals: ArrayLike<number>, slots: Slot[], send(slot: Slot, due: number): Promise<void>, giveUpMs: number }} options
 * @returns {Promise<{ unsentMs: number[], slotsUsed: number }>} `unsentMs`: how long each arrival waited that was given up
 */
export function sendOnSchedule({ arrivals, slots, send, giveUpMs }) {
  const begin = performance.now();
  const free = [...slots];
  let next = 0;
  let slotsUsed = 0;
  /** @type {number[]} */
  let unsentMs = [];
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  return new Promise((resolve, reject) => {
    const pump = () => {
      clearTimeout(timer);
      const now = performance.now() - begin;
      const due = () => arrivals[next] ?? Number.POSITIVE_INFINITY;
      while (due() <= now) {
        const slot = free.shift();
        if (slot === undefined) break;
        const sent = send(slot, begin + due());
        next++;
        slotsUsed = Math.max(slotsUsed, slots.length - free.length);
        sent.then(() => {
          free.push(slot);
          pump();
        }, reject);
      }
      if (now - due() > giveUpMs) {
        unsentMs = Array.from(arrivals)
          .slice(next)
          .filter((time) => time <= now)
          .map((time) => now - time);
        next = arrivals.length;
      }
      if (next < arrivals.length) timer = setTimeout(pump, free.length > 0 ? due() - now : giveUpMs);
      else if (free.length === slots.length) resolve({ unsentMs, slotsUsed });
    };
    pump();
  });
}

import { setTimeout as delay } from 'node:timers/promises';
import { holdList } from '#contracts/billing/holds.js';
import { routeStatus } from '#contracts/route-status.js';
import type { Messaging } from '#messaging/messaging.js';
import type { CliCommand } from '../command.js';
import { measureTraffic, renderTop, type Sample } from './top-report.js';

const INTERVAL_MS = 1_000;
const ANSWER_MS = 3_000;
/** Moves the cursor to the first line, and erases the rest of each line and of the screen: nothing flickers. */
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

export const topCommands: readonly CliCommand[] = [
  {
    name: 'top',
    summary: 'Watch the traffic of each model and upstream until Ctrl-C; once if the output is not a terminal, or with --json',
    parameters: {},
    examples: ['top', 'top --json'],
    async run(_values, json, connect, write) {
      const messaging = await connect();
      let before = await takeSample(messaging);
      for (;;) {
        await delay(INTERVAL_MS);
        const now = await takeSample(messaging);
        if (json) return { text: JSON.stringify(measureTraffic(before, now), null, 2), failed: false };
        const text = renderTop(before, now);
        if (!process.stdout.isTTY) return { text, failed: false };
        write(`${HOME}${text.replaceAll('\n', `${CLEAR_LINE}\n`)}${CLEAR_LINE}\n${CLEAR_BELOW}`);
        before = now;
      }
    },
  },
];

async function takeSample(messaging: Messaging): Promise<Sample> {
  const [replies, holds] = await Promise.all([
    messaging.requestEvery(routeStatus, {}, { timeoutMs: ANSWER_MS }),
    messaging.request(holdList, {}),
  ]);
  return { at: performance.now(), replies, holds };
}

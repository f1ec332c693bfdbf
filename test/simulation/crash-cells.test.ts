import { readFileSync } from 'node:fs';
import { TIMEOUT_DEFAULTS } from '#contracts/upstream-defaults.js';
import type { Event, Step } from './crash-matrix.js';
import { computeBill } from './request-story.js';
import { HIDDEN_TOKENS, type Script } from './simulated-upstream.js';
import { runRequest } from './world.js';

/** Each seed has an upstream with another speed, and so other progress at the fault. */
const SEEDS = [1, 2, 3, 4];
const PROMPT = { promptTokens: 9, cachedTokens: 1, cacheWriteTokens: 3, cacheWrite1hTokens: 2, tier: 'flex' };

const EVENT_OF = {
  gateway: 'gateway dies',
  'inference-proxy': 'proxy dies',
  billing: 'billing dies',
  'all in one process': 'all die',
  NATS: 'NATS down',
  Postgres: 'Postgres down',
  client: 'client leaves',
} satisfies Record<string, Event>;
type Who = keyof typeof EVENT_OF;

/** Outcome of the client, bill, and settling service. Two lists if a stream ends differently from a plain request. */
type Endings = string[] | { streamed: string[]; plain: string[] };

const WELL = ['completed: the whole, by the gateway'];
const RELEASED = 'refused: nothing, by the gateway';
const REFUSED = 'refused: nothing held';
/** The release arrived before the reserve. */
const TOMBSTONE = 'refused: nothing';
const LEFT = ['left: nothing, by the gateway'];
const READ_ON = ['left: the whole, by the proxy'];
/** The last meter reading was made before the first content. */
const REAPED = 'cut off: nothing, by the reaper';
const FAILED = { plain: ['error: nothing, by the gateway'], streamed: ['error: a part, by the gateway'] };

const BEFORE_CONTENT = {
  // Content until the proxy notices.
  gateway: ['cut off: nothing, by the proxy', 'cut off: a part, by the proxy', 'cut off: the whole, by the proxy'],
  'inference-proxy': ['error: nothing, by the gateway'],
  billing: WELL,
  'all in one process': [REAPED],
  NATS: ['error: nothing, by the gateway'],
  Postgres: WELL,
};

/** The crash matrix of docs/settlement.md, by names of rows and columns. */
const MATRIX: Record<string, { steps: Step[] } & Record<Who, Endings>> = {
  'before the reserve is committed': {
    steps: ['auth', 'reserve before commit'],
    gateway: ['cut off: nothing held', REAPED],
    'inference-proxy': WELL,
    billing: [...WELL, REFUSED],
    'all in one process': ['cut off: nothing held', REAPED],
    NATS: [REFUSED, RELEASED],
    Postgres: [...WELL, REFUSED, RELEASED, TOMBSTONE],
    client: LEFT,
  },
  'committed, reply lost': {
    steps: ['reserve committed, reply lost'],
    gateway: [REAPED],
    'inference-proxy': WELL,
    billing: [...WELL, RELEASED],
    'all in one process': [REAPED],
    NATS: [...WELL, RELEASED],
    Postgres: [...WELL, RELEASED, TOMBSTONE],
    client: LEFT,
  },
  'after the commit, before the upstream answers': { steps: ['dispatch'], ...BEFORE_CONTENT, client: LEFT },
  'answered, before content': { steps: ['before first content'], ...BEFORE_CONTENT, client: ['left: the prompt, by the gateway'] },
  'mid-stream': {
    steps: ['mid-stream'],
    gateway: {
      streamed: ['cut off: a part, by the proxy', 'cut off: the whole, by the proxy'],
      plain: ['cut off: the whole, by the proxy'], // its middle is its end
    },
    'inference-proxy': FAILED,
    billing: WELL,
    'all in one process': { streamed: [REAPED, 'cut off: a part, by the reaper'], plain: [REAPED] },
    NATS: FAILED,
    Postgres: WELL,
    client: { streamed: ['left: a part, by the gateway'], plain: ['left: the whole, by the gateway'] },
  },
  'read on after its client has left': {
    steps: ['read on for its usage'],
    gateway: READ_ON,
    'inference-proxy': ['left: nothing, by the reaper', 'left: the prompt, by the reaper', 'left: a part, by the reaper'],
    billing: READ_ON,
    'all in one process': ['left: nothing, by the reaper', 'left: the prompt, by the reaper', 'left: a part, by the reaper'],
    NATS: READ_ON,
    Postgres: READ_ON,
    client: READ_ON,
  },
  'finished, settle not sent': {
    steps: ['finished, settle not sent'],
    gateway: ['cut off: the whole, by the proxy'],
    'inference-proxy': FAILED,
    billing: WELL,
    'all in one process': { streamed: ['cut off: a part, by the reaper'], plain: [REAPED] },
    NATS: FAILED,
    Postgres: WELL,
    client: ['left: the whole, by the gateway'],
  },
  'settle sent': {
    steps: ['settle sent'],
    gateway: ['completed: the whole, by the proxy'],
    'inference-proxy': WELL,
    billing: WELL,
    'all in one process': { streamed: ['completed: a part, by the reaper'], plain: ['completed: nothing, by the reaper'] },
    NATS: WELL,
    Postgres: WELL,
    client: WELL,
  },
  'commit unknown, or its answer lost': {
    steps: ['settle commit unknown', 'settle acknowledgement lost'],
    gateway: WELL,
    'inference-proxy': WELL,
    billing: WELL,
    'all in one process': WELL,
    NATS: WELL,
    Postgres: WELL,
    client: WELL,
  },
};
const WHO = Object.keys(EVENT_OF) as Who[];

test('docs/settlement.md has these rows and columns', () => {
  const splitCells = (line: string): string[] => line.split('|').map((cell) => cell.trim());
  const lines = readFileSync('docs/settlement.md', 'utf8').split('\n');
  const table = lines.slice(lines.findIndex((line) => line.startsWith('| | gateway |')));
  const [head = '', , ...rows] = table.slice(0, table.indexOf(''));
  expect(splitCells(head).slice(2, -1)).toEqual(WHO);
  expect(rows.map((row) => splitCells(row)[1])).toEqual(Object.keys(MATRIX));
});

const CELLS = Object.entries(MATRIX).flatMap(([row, { steps, ...cells }]) =>
  WHO.map((who) => [row, who, steps, EVENT_OF[who], cells[who]] as const),
);

test.each(CELLS)('%s: %s', async (_row, _who, steps, event, endings) => {
  for (const kind of ['streamed', 'plain'] as const) {
    const allowed = Array.isArray(endings) ? endings : endings[kind];
    for (const step of steps) {
      for (const seed of SEEDS) {
        const ending = await findEnding(seed, kind === 'streamed', step, event);
        expect({ kind, step, seed, ending, isAsDocumented: allowed.includes(ending) }).toMatchObject({ isAsDocumented: true });
      }
    }
  }
});

test('a plain reply that takes almost ten minutes arrives, over a hundred leases, and is billed', async () => {
  const { totalMs } = TIMEOUT_DEFAULTS;
  const script: Script = {
    connectMs: 1,
    firstByteMs: totalMs - 1_000,
    paceMs: 1,
    chunks: 6,
    ending: 'good',
    stream: false,
    hides: false,
    totalMs,
    prompt: PROMPT,
  };
  const { story, cost } = await runRequest(1, script);
  const bill = computeBill(story, { ...PROMPT, outputTokens: 6 });
  expect([story.outcome, cost, story.settledBy]).toEqual(['completed', bill, ['gateway']]);
});

async function findEnding(seed: number, stream: boolean, step: Step, event: Event): Promise<string> {
  const pace = { connectMs: 1, firstByteMs: 60 * seed, paceMs: 80 * seed };
  const script: Script = { ...pace, chunks: 6, ending: 'good', stream, hides: false, prompt: PROMPT };
  const { story, cost } = await runRequest(seed, script, { step, event });
  const whole = computeBill(story, { ...PROMPT, outputTokens: 6 + (script.hides ? HIDDEN_TOKENS : 0) });
  const prompt = computeBill(story, { promptTokens: story.promptTokensEstimate, cachedTokens: 0, outputTokens: 0 });
  const parts = new Map<bigint | undefined, string>([
    [prompt, 'the prompt'],
    [whole, 'the whole'],
    [undefined, 'nothing held'],
    [0n, 'nothing'],
  ]);
  const bill = parts.get(cost) ?? 'a part';
  return `${story.outcome ?? 'cut off'}: ${[bill, ...story.settledBy.map((who) => `by the ${who}`)].join(', ')}`;
}

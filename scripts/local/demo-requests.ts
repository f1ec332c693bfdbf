/** Requests of the demo traffic: the clients of two projects, their habits, and what goes wrong in an ordinary hour. */

export type DemoKey = 'web-production' | 'web-staging' | 'web-retired' | 'research-notebook' | 'research-batch';
type DemoProject = 'web' | 'research';

/** A request to the gateway. `leaveAfterMs`: the client disconnects. */
interface DemoRequest {
  path: string;
  body?: { model: string; stream?: boolean; [field: string]: unknown };
  leaveAfterMs?: number;
}
type Body = NonNullable<DemoRequest['body']>;

/** `atMs`: the time of its start. */
export interface PlannedRequest extends DemoRequest {
  atMs: number;
  key: DemoKey;
}

interface Kind {
  share: number;
  key: DemoKey;
  make: (random: Random) => DemoRequest;
}

/** Returns a number from 0 to below 1. */
type Random = () => number;
/** Instructions for the simulator. */
type Directives = Record<string, string | number | boolean>;

/** Keys of the demo traffic and the project of each. `RETIRED_KEY` is revoked; a client still uses it. */
export const DEMO_KEYS: Record<DemoKey, DemoProject> = {
  'web-production': 'web',
  'web-staging': 'web',
  'web-retired': 'web',
  'research-notebook': 'research',
  'research-batch': 'research',
};
export const RETIRED_KEY: DemoKey = 'web-retired';

/**
 * Limits and budgets of the projects. The limits of `research` are low enough for its batch to be refused in part; the traffic of one run
 * spends a part of each budget.
 */
export const DEMO_PROJECTS: Record<
  DemoProject,
  { requestsPerMinute: number; concurrency: number; budget: { period: string; usd: string } }
> = {
  web: { requestsPerMinute: 1200, concurrency: 100, budget: { period: 'month', usd: '1' } },
  research: { requestsPerMinute: 120, concurrency: 12, budget: { period: 'day', usd: '0.50' } },
};

const REQUESTS_PER_SECOND = 6;
const BATCH_REQUESTS = 40;
const OUTAGE_REQUESTS = 15;
const MOST_LOAD = 1.6;

/** Each kind of request with its share of the traffic and the key that sends it. */
const KINDS: Kind[] = [
  { share: 26, key: 'web-production', make: supportChat },
  { share: 10, key: 'web-production', make: classification },
  { share: 8, key: 'web-production', make: toolCall },
  { share: 6, key: 'web-production', make: photo },
  { share: 8, key: 'web-staging', make: draft },
  { share: 12, key: 'research-notebook', make: reasoning },
  { share: 6, key: 'research-notebook', make: translation },
  { share: 4, key: 'research-notebook', make: uncounted },
  { share: 4, key: 'research-notebook', make: free },
  { share: 5, key: 'web-production', make: (random) => ({ ...supportChat(random), leaveAfterMs: between(random, 700, 2_000) }) },
  {
    share: 2,
    key: 'web-production',
    make: (random) => ({ ...supportChat(random, { ttft: 3_000 }), leaveAfterMs: between(random, 200, 900) }),
  },
  { share: 3, key: 'web-production', make: (random) => supportChat(random, { cut: between(random, 16, 60) }) },
  { share: 3, key: 'web-staging', make: (random) => draft(random, { status: 500 }) },
  { share: 2, key: 'web-staging', make: (random) => supportChat(random, { finish: 'content_filter' }) },
  { share: 2, key: 'web-staging', make: (random) => limited(supportChat(random)) },
  { share: 6, key: 'web-staging', make: mistake },
  { share: 1, key: RETIRED_KEY, make: supportChat },
];

/**
 * Plans `seconds` of traffic: a load that rises and falls, one batch that exceeds its project's limits, and one outage of a model. Returns
 * the requests in the order of their start. The same plan every time.
 */
export function planDemoTraffic(seconds: number): PlannedRequest[] {
  const random = seededRandom(20_270_101);
  const lengthMs = seconds * 1_000;
  const planned: PlannedRequest[] = [];
  for (let atMs = 0; atMs < lengthMs; atMs += (1_000 / REQUESTS_PER_SECOND / load(atMs / lengthMs)) * (0.5 + random())) {
    const { key, make } = pickKind(random);
    planned.push({ atMs, key, ...make(random) });
  }
  for (let index = 0; index < BATCH_REQUESTS; index++) {
    planned.push({ atMs: lengthMs * (0.4 + (0.02 * index) / BATCH_REQUESTS), key: 'research-batch', ...summary(random) });
  }
  for (let index = 0; index < OUTAGE_REQUESTS; index++) {
    const atMs = lengthMs * (0.7 + (0.08 * index) / OUTAGE_REQUESTS);
    // Most of them succeed at the second upstream.
    planned.push({ atMs, key: 'web-production', ...photo(random, { status: 503, ...(index % 4 === 3 ? {} : { times: 1 }) }) });
  }
  return planned.sort((one, other) => one.atMs - other.atMs);
}

/** Load at a part of the time, on average 1: a slow start, a peak at two thirds, a calm end. */
function load(part: number): number {
  return MOST_LOAD * (0.25 + 0.75 * Math.sin(Math.PI * part ** 1.6));
}

function pickKind(random: Random): Kind {
  let left = random() * KINDS.reduce((sum, { share }) => sum + share, 0);
  const found = KINDS.find(({ share }) => {
    left -= share;
    return left < 0;
  });
  return found as Kind; // `left` is below the sum of the shares
}

const QUESTIONS = [
  'My parcel has not arrived. It left the warehouse on Monday. What can I do now?',
  'How do I change the address of an order that was not sent yet?',
  'Which of the two tents is lighter, and which one is easier to put up alone?',
  'I was charged twice for the same invoice. Please explain how I get my money back.',
  'Can I return shoes that I wore once in the house?',
];
const DOCUMENT =
  'The harbour master keeps a book of every ship that enters. Each line has the name of the ship, its port of origin, the cargo, and the fee that was paid. Fees depend on the length of the ship and on the number of nights. ';
const SUPPORT = 'You answer customers of an outdoor shop. Be friendly and brief, and never promise a date.';
const PIXEL = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const ORDER_TOOL = {
  name: 'find_order',
  description: 'Returns the state of an order',
  parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'], additionalProperties: false },
};

/** A streamed answer to a customer, in chat completions. `directives` change what the simulator does. */
function supportChat(random: Random, directives: Directives = {}): DemoRequest {
  const user = `${pick(random, QUESTIONS)} ${sim({ ...paced(random), cached: between(random, 0, 24), ...directives })}`;
  return chat({
    model: 'sim-fast',
    messages: [system(SUPPORT), { role: 'user', content: user }],
    stream: true,
    stream_options: { include_usage: true },
  });
}

function classification(random: Random): DemoRequest {
  const user = `Sort this message into billing, delivery or product: ${pick(random, QUESTIONS)} ${sim({ tokens: 16, ttft: between(random, 60, 200) })}`;
  return chat({ model: 'sim-fast', messages: [{ role: 'user', content: user }], response_format: { type: 'json_object' } });
}

function toolCall(random: Random): DemoRequest {
  const user = `Where is it? call find_order {"order":"A-${between(random, 1_000, 9_999)}"} ${sim({ ttft: between(random, 100, 400) })}`;
  return chat({
    model: 'sim-fast',
    messages: [system(SUPPORT), { role: 'user', content: user }],
    tools: [{ type: 'function', function: ORDER_TOOL }],
  });
}

function photo(random: Random, directives: Directives = {}): DemoRequest {
  const text = `Order ${between(random, 1_000, 9_999)}: is this tent damaged? ${sim({ ...paced(random), ...directives })}`;
  const input = [
    {
      role: 'user',
      content: [
        { type: 'input_text', text },
        { type: 'input_image', image_url: PIXEL },
      ],
    },
  ];
  return { path: '/v1/responses', body: { model: 'sim-vision', input, stream: random() < 0.5 } };
}

function draft(random: Random, directives: Directives = {}): DemoRequest {
  const input = `Write a short text for the shop window. ${sim({ ...paced(random), ...directives })}`;
  return { path: '/v1/responses', body: { model: 'sim-fast', instructions: 'Write for hikers.', input, stream: random() < 0.7 } };
}

function reasoning(random: Random): DemoRequest {
  const content = `${makeDocument(random)}Which fee is wrong, and why? ${sim({ ...paced(random), reasoning: 16 * between(random, 2, 10) })}`;
  const thinking = { type: 'enabled', budget_tokens: 1024 };
  return messages({ model: 'sim-reason', max_tokens: 2048, messages: [{ role: 'user', content }], thinking, stream: true });
}

function translation(random: Random): DemoRequest {
  const content = `Translate into plain English: ${DOCUMENT}${sim({ tokens: 64, ttft: between(random, 100, 300), rate: 200 })}`;
  return messages({ model: 'sim-tiny', max_tokens: 256, messages: [{ role: 'user', content }] });
}

/** Its upstream reports no usage, so its bill is an estimate. */
function uncounted(random: Random): DemoRequest {
  const content = `${makeDocument(random)}List the ports. ${sim({ ...paced(random), nousage: true })}`;
  return chat({ model: 'sim-fast', messages: [{ role: 'user', content }], stream: random() < 0.5 });
}

function summary(random: Random): DemoRequest {
  const content = `${makeDocument(random)}Summarise this. ${sim({ tokens: 96, ttft: between(random, 300, 900), rate: 80 })}`;
  return messages({ model: 'sim-fast', system: 'Summaries have three sentences.', max_tokens: 400, messages: [{ role: 'user', content }] });
}

function free(random: Random): DemoRequest {
  const count = {
    path: '/v1/messages/count_tokens',
    body: { model: 'sim-reason', messages: [{ role: 'user', content: makeDocument(random) }] },
  };
  return pick(random, [{ path: '/v1/balance' }, { path: '/v1/models' }, count]);
}

/** A request that the gateway refuses before it costs anything. */
function mistake(random: Random): DemoRequest {
  const user = { role: 'user', content: pick(random, QUESTIONS) };
  return pick(random, [
    chat({ model: 'gpt-unknown', messages: [user] }),
    chat({ model: 'sim-fast', messages: [user], temperature: 9 }),
    chat({
      model: 'sim-fast',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/tent.png' } }] }],
    }),
    messages({ model: 'sim-fast', messages: [user] }),
    messages({ model: 'sim-tiny', max_tokens: 256, messages: [{ role: 'user', content: DOCUMENT.repeat(80) }] }),
    { path: '/v1/responses', body: { model: 'sim-fast', input: user.content, previous_response_id: 'resp_1' } },
  ]);
}

/** The request with an output cap that ends it early. */
function limited({ body, ...rest }: DemoRequest): DemoRequest {
  return { ...rest, ...(body && { body: { ...body, max_completion_tokens: 24 } }) };
}

function chat(body: Body): DemoRequest {
  return { path: '/v1/chat/completions', body };
}

function messages(body: Body): DemoRequest {
  return { path: '/v1/messages', body };
}

function system(content: string): object {
  return { role: 'system', content };
}

function makeDocument(random: Random): string {
  return DOCUMENT.repeat(between(random, 1, 120));
}

/** Length and speed of an answer: 32 to 320 tokens in one to five seconds. */
function paced(random: Random): Directives {
  return { tokens: 16 * between(random, 2, 20), ttft: between(random, 120, 700), rate: between(random, 60, 140) };
}

/** Instructions for the simulator, in the text of the prompt. */
function sim(directives: Directives): string {
  return `[[sim ${Object.entries(directives)
    .map(([name, value]) => (value === true ? name : `${name}=${value}`))
    .join(' ')}]]`;
}

function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

function pick<Item>(random: Random, items: Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

/** A linear congruential generator of numbers from 0 to below 1. */
function seededRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

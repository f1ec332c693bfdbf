import type {
  CatalogChanges,
  CatalogDifferences,
  CatalogFault,
  CatalogGetReply,
  CatalogModel,
  CatalogRevision,
  ScheduledPrice,
} from '../../src/shapes/models.js';
import { MODELS, NOW } from './demo-data.js';
import { type Endpoint, ok, type Reply } from './demo-endpoint.js';

/** A catalog whose text can be changed: a line with a tab is a fault, and a price is compared by its model. */
const HOUR_MS = 3_600_000;
const iso = (ms: number) => new Date(ms).toISOString();
const usd = (pico: number) => `${pico / 1_000_000}`;
const NONE = { added: [], changed: [], disabled: [] };

const FIRST_TEXT = `# The catalog: models, prices and upstreams.
upstreams:
  - id: gpu-cluster-a
    kind: openai-chat
    baseUrl: http://gpu-a.internal:8000/v1
    allowPrivateNetwork: true
  - id: hosted-eu
    kind: openai-chat
    baseUrl: https://api.example.com/v1
    apiKeyEnv: UPSTREAM_KEY_HOSTED
models:
${MODELS.map(
  ({ id, ownedBy, contextTokens, maxOutputTokens, input, cached, output, upstream }) => `  - id: ${id}
    ownedBy: ${ownedBy}
    contextTokens: ${contextTokens}
    maxOutputTokens: ${maxOutputTokens}
    price: { inputUsdPerMTok: "${usd(input)}", cachedInputUsdPerMTok: "${usd(cached)}", outputUsdPerMTok: "${usd(output)}" }
    routes: [{ upstream: ${upstream}, model: ${ownedBy}/${id} }]
`,
).join('')}`;

const price = (version: number, input: number, output: number): CatalogModel['price'] => ({
  version,
  inputPicoUsd: `${input}`,
  cachedInputPicoUsd: `${input / 10}`,
  outputPicoUsd: `${output}`,
});

const REVISIONS: CatalogRevision[] = [
  revision(12, 26, { repriced: [{ model: 'qwen3-32b', before: price(1, 120_000, 480_000), after: price(2, 100_000, 400_000) }] }),
  revision(11, 95, { models: { ...NONE, added: ['deepseek-r1'] }, upstreams: { ...NONE, added: ['hosted-eu'] } }),
  revision(10, 210, { models: { ...NONE, changed: [{ id: 'llama-3.3-70b', fields: ['maxOutputTokens', 'routes'] }] } }),
];
const TEXTS = new Map([[12, FIRST_TEXT]]);

let scheduled: ScheduledPrice[] = [
  {
    scheduledPriceId: '0195b000-0000-7000-8000-000000000001',
    model: 'gpt-oss-120b',
    price: { inputPicoUsd: '130000', cachedInputPicoUsd: '13000', outputPicoUsd: '520000' },
    effectiveAt: iso(NOW + 31 * HOUR_MS),
    createdAt: iso(NOW - 2 * HOUR_MS),
    revision: null,
    cancelledAt: null,
  },
];

function revision(number: number, hoursAgo: number, changes: Partial<CatalogChanges>): CatalogRevision {
  return {
    revision: number,
    at: iso(NOW - hoursAgo * HOUR_MS),
    auditId: `0195b100-0000-7000-8000-${String(number).padStart(12, '0')}`,
    actor: 'user/0195ad00-0000-7000-8000-000000000001',
    actorName: 'Mara Lindqvist',
    via: 'panel',
    ip: '10.4.1.17',
    requestId: 'req_01j9demo7q4w',
    reason: null,
    fileName: 'catalog.yaml',
    scheduledPriceId: null,
    changes: { models: NONE, upstreams: NONE, repriced: [], ...changes },
  };
}

export const CATALOG: Endpoint[] = [
  ['GET', /^\/catalog$/, ({ query }) => ok(textOf(Number(query.get('revision') ?? current())))],
  ['GET', /^\/catalog\/revisions$/, () => ok({ revisions: REVISIONS, nextCursor: null })],
  ['POST', /^\/catalog\/plan$/, ({ body }) => ok({ revision: current(), ...planOf(String(body.yaml)) })],
  [
    'POST',
    /^\/catalog\/apply$/,
    ({ body }) => {
      if (body.expectedRevision !== current()) return STALE;
      const { changes } = planOf(String(body.yaml));
      REVISIONS.unshift(revision(current() + 1, 0, { repriced: changes?.repriced ?? [] }));
      TEXTS.set(current(), String(body.yaml));
      return ok({ revision: current(), changed: changes !== null, models: MODELS.length, upstreams: 2 });
    },
  ],
  ['GET', /^\/prices\/scheduled$/, () => ok({ prices: scheduled })],
  [
    'POST',
    /^\/prices\/scheduled$/,
    ({ body }) => {
      const [input = 0, cached = 0, output = 0] = Object.values(body.price as Record<string, string>).map(Number);
      const row = {
        scheduledPriceId: String(body.scheduledPriceId),
        model: String(body.model),
        price: { inputPicoUsd: `${input * 1e6}`, cachedInputPicoUsd: `${cached * 1e6}`, outputPicoUsd: `${output * 1e6}` },
        effectiveAt: String(body.effectiveAt),
        createdAt: new Date().toISOString(),
        revision: null,
        cancelledAt: null,
      };
      scheduled = [...scheduled, row];
      return { status: 201, body: row };
    },
  ],
  [
    'DELETE',
    /^\/prices\/scheduled\/([^/]+)$/,
    ({ parts: [id] }) => {
      const row = scheduled.find(({ scheduledPriceId }) => scheduledPriceId === id);
      scheduled = scheduled.filter((other) => other !== row);
      return ok({ ...row, cancelledAt: new Date().toISOString() });
    },
  ],
];

function current(): number {
  return REVISIONS[0]?.revision ?? 0;
}

const STALE: Reply = {
  status: 409,
  body: {
    error: { message: 'The catalog has another revision.', type: 'conflict_error', param: 'expectedRevision', code: 'conflict' },
  },
};

function textOf(number: number): CatalogGetReply {
  const found = REVISIONS.find((one) => one.revision === number) ?? revision(number, 0, {});
  return { ...found, yaml: TEXTS.get(number) ?? null, currentRevision: current(), editing: true };
}

function planOf(yaml: string): { faults: CatalogFault[]; changes: CatalogDifferences | null } {
  const lines = yaml.split('\n');
  const faults = lines.flatMap((text, at) =>
    text.includes('\t') ? [{ line: at + 1, field: 'models[0].price', problem: 'must be a group of fields' }] : [],
  );
  const before = pricesIn(TEXTS.get(current()) ?? '');
  const repriced = [...pricesIn(yaml)].flatMap(([model, after]) => {
    const old = before.get(model);
    return old && old !== after ? [{ model, before: priceIn(old, 1), after: priceIn(after, 2) }] : [];
  });
  const disabled = [...before.keys()].filter((model) => !yaml.includes(`id: ${model}`));
  const isChanged = repriced.length + disabled.length > 0;
  return { faults, changes: faults.length > 0 || !isChanged ? null : { models: { ...NONE, disabled }, upstreams: NONE, repriced } };
}

/** The line of each model's price. */
function pricesIn(yaml: string): Map<string, string> {
  return new Map([...yaml.matchAll(/ {2}- id: (\S+)\n[^-]*?price: (.*)/g)].map(([, model = '', line = '']) => [model, line]));
}

function priceIn(line: string, version: number): CatalogModel['price'] {
  const [input = 0, cached = 0, output = 0] = [...line.matchAll(/"([\d.]+)"/g)].map(([, text]) => Math.round(Number(text) * 1e6));
  return { version, inputPicoUsd: `${input}`, cachedInputPicoUsd: `${cached}`, outputPicoUsd: `${output}` };
}

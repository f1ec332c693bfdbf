import fc from 'fast-check';
import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import { computeCost } from '#money/price.js';
import { testCases } from '#testing/long-run.js';
import { PIXEL } from '#testing/pixel.js';
import { chatClient } from './pairs/chat-client.js';
import { messagesClient } from './pairs/messages-client.js';
import type { FormatClient, Outcome, SeenReply } from './pairs/outcome.js';
import { responsesClient } from './pairs/responses-client.js';
import { type Ask, CLIENT_FORMATS, type ClientFormat, DIALECTS, type Dialect, TOOLS, type Turn } from './pairs/scenario.js';
import { findPrice, joinPairedSystem, modelAt, type PairedSystem } from './pairs/upstreams.js';

/**
 * Random conversations in every pair of client format and upstream dialect. No hold is above one token a byte and the output cap, no cost
 * above its hold, and a reply that breaks or is not counted never costs more than the same content of a complete reply. Every reply is
 * accepted back as history.
 */
const MODEL = 'sim-vision';
const PRICE = findPrice(MODEL);
const TOKENS_PER_IMAGE_MAX = 1_600;
/** Directives have this length, so that a prompt has the same size with any of them. */
const DIRECTIVE_LENGTH = 60;

let system: PairedSystem;
let clients: Record<ClientFormat, FormatClient<unknown>>;
beforeAll(async () => {
  system = await joinPairedSystem('1000.00');
  const { gatewayUrl, tenant } = system;
  clients = {
    chat: chatClient(gatewayUrl, tenant.apiKey) as FormatClient<unknown>,
    responses: responsesClient(gatewayUrl, tenant.apiKey) as FormatClient<unknown>,
    messages: messagesClient(gatewayUrl, tenant.apiKey) as FormatClient<unknown>,
  };
});
afterAll(() => system?.leave());

interface Conversation {
  system: string | undefined;
  history: Turn[];
  question: string;
  hasImage: boolean;
  hasTools: boolean;
  /** The reply has a call, after its text. */
  callsTool: boolean;
  reasoningTokens: number;
  textTokens: number;
  cachedTokens: number;
  /** Fraction of the reply's tokens after which it breaks. */
  brokenAt: number;
}

const text = fc
  .oneof(fc.string({ maxLength: 40 }), fc.constantFrom('"'.repeat(1_000), '\\\n\t'.repeat(50), 'Grüße 🌍', '漢字'.repeat(20)))
  .map((value) => `x${value}`);
const city = fc.record({ city: fc.oneof(fc.string({ maxLength: 20 }), fc.constant('"\\"'.repeat(40))) });
const exchange = fc.oneof(
  fc.tuple(text, text).map(([user, answer]): Turn[] => [
    { role: 'user', text: user },
    { role: 'assistant', text: answer },
  ]),
  fc.tuple(text, city, text, fc.uuid()).map(([user, input, result, id]): Turn[] => [
    { role: 'user', text: user },
    { role: 'assistant', text: '', calls: [{ id: `call_${id.slice(0, 8)}`, name: 'weather', input }] },
    { role: 'tool', id: `call_${id.slice(0, 8)}`, name: 'weather', result },
  ]),
);
const conversations: fc.Arbitrary<Conversation> = fc.record({
  system: fc.option(text, { nil: undefined }),
  history: fc.array(exchange, { maxLength: 3 }).map((exchanges) => exchanges.flat()),
  question: text,
  hasImage: fc.boolean(),
  hasTools: fc.boolean(),
  callsTool: fc.boolean(),
  reasoningTokens: fc.nat(8),
  textTokens: fc.integer({ min: 1, max: 12 }),
  cachedTokens: fc.nat(40),
  brokenAt: fc.double({ min: 0, max: 1, noNaN: true }),
});

const ARGUMENTS = '{"city":"Rome"}';
const CALL_NAME = 'traffic';
const ARGUMENT_TOKENS = Math.ceil(ARGUMENTS.length / 4);
const OUTPUT_TOKENS_MAX = 60;

const pairs = CLIENT_FORMATS.flatMap((client) => DIALECTS.map((dialect) => ({ client, dialect })));

describe.each(pairs)('$client at $dialect', ({ client, dialect }) => {
  testCases(
    'no estimate costs more than the same content of a complete reply [hold-size, failed-after-content, T-26]',
    { usual: 3, long: 300 },
    conversations,
    async (conversation) => {
      const whole = await stream(client, dialect, makeAsk(conversation, dialect, ''));
      const { usage } = whole.bill;
      expect(whole.bill.reason).toBe('completed');
      expect(BigInt(whole.heldPicoUsd)).toBe(estimateHold(makeAsk(conversation, dialect, '')));
      expect(shownUsage(whole.outcome)).toEqual({
        promptTokens: usage.promptTokens,
        cachedTokens: usage.cachedTokens,
        outputTokens: usage.outputTokens,
      });
      expect(BigInt(whole.bill.costPicoUsd)).toBe(computeCost(usage, PRICE));

      const uncounted = await stream(client, dialect, makeAsk(conversation, dialect, 'nousage'));
      expect(BigInt(uncounted.bill.costPicoUsd)).toBeLessThanOrEqual(computeCost({ ...usage, cachedTokens: 0 }, PRICE));

      const brokenAt = Math.max(1, Math.ceil(conversation.brokenAt * countTokens(conversation)));
      const broken = await stream(client, dialect, makeAsk(conversation, dialect, `cut=${brokenAt}`));
      const received = computeCost({ ...usage, outputTokens: receivedTokens(conversation, brokenAt) }, PRICE);
      expect(BigInt(broken.bill.costPicoUsd)).toBeLessThanOrEqual(received);
      expect([uncounted.bill.overPicoUsd, broken.bill.overPicoUsd]).toEqual(['0', '0']);

      const history = await stream(client, dialect, followUp(makeAsk(conversation, dialect, ''), whole.outcome.seen as SeenReply));
      expect([history.outcome.status, history.bill.reason]).toEqual([200, 'completed']);
    },
  );
});

interface Billed {
  outcome: Outcome;
  heldPicoUsd: string;
  bill: NonNullable<BilledRequest['settlement']>;
}

async function stream(client: ClientFormat, dialect: Dialect, ask: Ask): Promise<Billed> {
  const { render, streamed } = clients[client];
  let outcome = await streamed(render(ask, modelAt(MODEL, dialect)));
  while (outcome.status === 503) outcome = await streamed(render(ask, modelAt(MODEL, dialect)));
  const { settlement, heldPicoUsd } = await system.administrator.request(requestShow, { requestId: outcome.requestId });
  if (settlement === null) throw new Error(`not settled: ${outcome.requestId}`);
  return { outcome, heldPicoUsd, bill: settlement };
}

/** A request whose reply has the content of the conversation, and the fault of `fault`. */
function makeAsk(conversation: Conversation, dialect: Dialect, fault: string): Ask {
  const { system, history, question, hasImage, reasoningTokens, textTokens, cachedTokens } = conversation;
  const calls = hasCall(conversation) ? `call ${CALL_NAME} ${ARGUMENTS}` : '';
  // Only this dialect reports at the start what was cached: of a reply that breaks elsewhere, it is not known.
  const cached = dialect === 'anthropic-messages' ? cachedTokens : 0;
  const words = `tokens=${textTokens} reasoning=${reasoningTokens} cached=${cached} ${fault}`;
  const directive = `[[sim ${words.padEnd(DIRECTIVE_LENGTH)}]]`;
  const last: Turn = { role: 'user', text: `${question} ${calls} ${directive}`, ...(hasImage && { pngBase64: PIXEL }) };
  const tools: Ask['tools'] = conversation.hasTools ? ['weather', CALL_NAME, 'clock'] : undefined;
  return { model: MODEL, ...(system !== undefined && { system }), turns: [...history, last], tools, maxTokens: OUTPUT_TOKENS_MAX };
}

function hasCall({ hasTools, callsTool }: Conversation): boolean {
  return hasTools && callsTool;
}

function countTokens(conversation: Conversation): number {
  const { reasoningTokens, textTokens } = conversation;
  return reasoningTokens + textTokens + (hasCall(conversation) ? ARGUMENT_TOKENS : 0);
}

/** Tokens of a complete reply that has only what came before the break. */
function receivedTokens(conversation: Conversation, brokenAt: number): number {
  const hasName = hasCall(conversation) && brokenAt > conversation.reasoningTokens + conversation.textTokens;
  return brokenAt + (hasName ? Math.ceil(CALL_NAME.length / 4) : 0);
}

/** The hold of a request: one token for each byte of its texts, tools and calls, each image at its bound, and the output cap. */
function estimateHold({ system = '', turns, tools = [], maxTokens = 0 }: Ask): bigint {
  const texts = turns.flatMap((turn) => {
    if (turn.role === 'tool') return [turn.result];
    const calls = turn.role === 'assistant' ? (turn.calls ?? []) : [];
    return [turn.text, ...calls.flatMap(({ name, input }) => [name, JSON.stringify(input)])];
  });
  const toolTexts = tools.flatMap((name) => [name, TOOLS[name].description, JSON.stringify(TOOLS[name].parameters)]);
  const images = turns.filter((turn) => turn.role === 'user' && turn.pngBase64 !== undefined).length;
  const textBytes = Buffer.byteLength([system, ...texts, ...toolTexts].join(''));
  // A prompt that may be cached may get two lines that keep caches apart.
  const lineBytes = Math.ceil(textBytes / 4) + images * 64 < 1_024 ? 0 : 60;
  const promptTokens = textBytes + lineBytes + images * TOKENS_PER_IMAGE_MAX;
  return computeCost({ promptTokens, cachedTokens: 0, outputTokens: maxTokens }, PRICE);
}

function shownUsage({ seen }: Outcome) {
  const { promptTokens, cachedTokens, outputTokens } = (seen as SeenReply).usage;
  return { promptTokens, cachedTokens, outputTokens };
}

/** The conversation with the reply, results for its calls, and one more question. */
function followUp(ask: Ask, { text: answer, calls }: SeenReply): Ask {
  const made = calls.map((call, index) => ({ ...call, id: `call_again_${index}` }));
  const results = made.map(({ id, name }): Turn => ({ role: 'tool', id, name, result: 'None.' }));
  return { ...ask, turns: [...ask.turns, { role: 'assistant', text: answer, calls: made }, ...results, { role: 'user', text: 'Thanks.' }] };
}

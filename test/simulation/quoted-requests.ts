import type { InferenceRequest } from '#inference/request.js';
import { TEST_CALLER } from '#testing/fake-services.js';
import { quoteRequest } from '../../apps/gateway/src/pipeline/quote.js';
import { digestBody, type Promised, Quotes } from '../../apps/gateway/src/pipeline/quotes.js';
import { MODEL } from './nodes.js';
import { OUTPUT_TOKENS_MAX, type RequestStory } from './request-story.js';

/** Signs the quotes of all gateways. */
const KEY = Buffer.alloc(32, 7);
const QUOTES = new Quotes({ get: () => Promise.resolve(KEY) });

/** Gives a request a quote at the first price of the run. When it is sent, gateways may know later ones. */
export async function quoteStory(story: RequestStory): Promise<void> {
  const terms = quoteRequest(MODEL, makeRequest(story));
  const { quote } = await QUOTES.sign(describeRequest(story), terms, MODEL);
  story.quoted = { quote, version: MODEL.pinnedPrice.version, amount: terms.amount };
}

export function checkQuote(story: RequestStory, { quote }: { quote: string }): Promise<Promised> {
  return QUOTES.check(quote, describeRequest(story));
}

export function makeRequest({ script, text }: RequestStory): InferenceRequest {
  return {
    model: MODEL.id,
    turns: [{ role: 'user', parts: [{ type: 'text', text }] }],
    tools: [],
    output: { kind: 'text' },
    stream: script.stream,
    maxOutputTokens: OUTPUT_TOKENS_MAX,
    hints: {},
  };
}

/** The request that a quote is for. */
function describeRequest({ text }: RequestStory) {
  return { accountId: TEST_CALLER.accountId, format: 'chat', model: MODEL.id, bodyDigest: digestBody(Buffer.from(text)) };
}

/** Names how a quoted hold ended without its gateway. */
export function listQuotedEnds({ quoted, settledBy }: RequestStory): string[] {
  return quoted && settledBy.includes('reaper') ? ['quoted, reaped'] : [];
}

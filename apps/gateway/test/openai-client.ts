import OpenAI from 'openai';
import { ERROR_CODES, type ErrorCode, GatewayError } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Turn } from '#inference/turn.js';
import { reportedUsage } from '#testing/token-usage.js';
import type { ParsedRequest, ProtocolAdapter } from '../src/protocols/protocol-adapter.js';
import { type Answer, adapterFetch } from './adapter-fetch.js';

/** OpenAI's SDK against an adapter, through the SDK's `fetch` option: no server, no pipeline. */

export const usageReport: StreamEvent = { type: 'usage-report', usage: reportedUsage(12, 9, { cachedTokens: 4, reasoningTokens: 5 }) };

export const textReply: StreamEvent[] = [
  { type: 'reasoning-delta', text: 'Think.' },
  { type: 'text-delta', text: 'Hi ' },
  { type: 'text-delta', text: '\ud83d' },
  { type: 'text-delta', text: '\ude42' },
  usageReport,
  { type: 'completion-finish', reason: 'stop' },
];

/** Returns a client whose requests are answered with these events or this error. `seen` collects the turns of each request. */
export function openClient<Parsed extends ParsedRequest>(
  adapter: ProtocolAdapter<Parsed>,
  keepAliveMs: number,
  answer: Answer | (() => Answer),
  seen: Turn[][] = [],
): OpenAI {
  const fetch = adapterFetch(adapter, keepAliveMs, ({ request }) => {
    seen.push(request.turns);
    return typeof answer === 'function' ? answer() : answer;
  });
  return new OpenAI({ apiKey: 'tg_test', baseURL: 'http://gateway.invalid/v1', maxRetries: 0, fetch });
}

const CLASS_BY_STATUS: Record<number, new (...args: never[]) => Error> = {
  400: OpenAI.BadRequestError,
  401: OpenAI.AuthenticationError,
  402: OpenAI.APIError,
  403: OpenAI.PermissionDeniedError,
  404: OpenAI.NotFoundError,
  413: OpenAI.APIError,
  429: OpenAI.RateLimitError,
  500: OpenAI.InternalServerError,
  502: OpenAI.InternalServerError,
  503: OpenAI.InternalServerError,
  504: OpenAI.InternalServerError,
};

/** Expects that a request which is answered with an error raises the class of its status, with code, type and param. */
export async function expectRaised(code: ErrorCode, ask: (error: GatewayError) => Promise<unknown>): Promise<void> {
  const { status, type } = ERROR_CODES[code];
  const error: unknown = await ask(new GatewayError(code, 'What happened.', { param: 'model' })).catch((caught) => caught);
  expect(error).toBeInstanceOf(CLASS_BY_STATUS[status]);
  const message = expect.stringContaining('What happened.');
  expect(error).toMatchObject({ status, code, type, param: 'model', message, requestID: 'req_x1' });
}

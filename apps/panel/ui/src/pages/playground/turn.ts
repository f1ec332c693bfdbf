import { holdFor } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import type { BilledRequest } from '../../../../src/shapes/billing.js';
import type { CatalogModel } from '../../../../src/shapes/catalog.js';
import type { PanelErrorBody } from '../../../../src/shapes/error.js';
import { ApiError } from '../../data/api.js';
import type { ChatMessage } from '../../data/calls.js';

/** A question and its reply. */
export interface Turn {
  id: number;
  question: string;
  model: string;
  state: 'running' | 'complete' | 'stopped' | 'failed';
  text: string;
  reasoning: string;
  /** `stop`, `length`, `tool_calls`; null before the end. */
  finishReason: string | null;
  /** The gateway's id. Null before the reply, or when the panel refused. */
  requestId: string | null;
  firstContentMs: number | null;
  tookMs: number | null;
  failure: ApiError | null;
  /** Hold and cost. Null before the settlement, and when nothing was held. */
  bill: BilledRequest | null;
}

let lastId = 0;

export function newTurn(question: string, model: string): Turn {
  lastId += 1;
  const empty = { finishReason: null, requestId: null, firstContentMs: null, tookMs: null, failure: null, bill: null };
  return { id: lastId, question, model, state: 'running', text: '', reasoning: '', ...empty };
}

interface Chunk {
  choices?: { delta?: { content?: string | null; reasoning_content?: string }; finish_reason?: string | null }[];
  error?: PanelErrorBody['error'];
}

/** Returns what an event of the reply changes, `ms` after its start. */
export function addEvent({ text, reasoning, firstContentMs, requestId }: Turn, data: string, ms: number): Partial<Turn> {
  if (data === '[DONE]') return { state: 'complete' };
  const { choices, error } = JSON.parse(data) as Chunk;
  if (error) return { state: 'failed', failure: new ApiError(error.message, error.code, error.param, requestId) };
  const choice = choices?.[0];
  const [more, thought] = [choice?.delta?.content ?? '', choice?.delta?.reasoning_content ?? ''];
  return {
    ...(more && { text: text + more }),
    ...(thought && { reasoning: reasoning + thought }),
    ...((more || thought) && firstContentMs === null && { firstContentMs: ms }),
    ...(choice?.finish_reason && { finishReason: choice.finish_reason }),
  };
}

const ENCODER = new TextEncoder();

/** The most that a request can cost, which is held before it starts: a token for each byte of text, the whole output, and the price of a request. */
export function mostItCosts({ price, maxOutputTokens }: CatalogModel, messages: readonly ChatMessage[], maxTokens: number): bigint {
  const promptTokensMax = messages.reduce((sum, { content }) => sum + ENCODER.encode(content).length, 0);
  return holdFor({ promptTokensMax, outputTokensMax: Math.min(maxTokens, maxOutputTokens) }, parsePrice(price));
}

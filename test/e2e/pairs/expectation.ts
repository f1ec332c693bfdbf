import type { SettleReason } from '#contracts/billing/holds.js';
import { ERROR_CODES, type ErrorCode } from '#inference/errors.js';
import { estimateOutputTokens } from '#inference/estimate-tokens.js';
import type { Usage } from '#inference/usage.js';
import { NO_USAGE } from '#inference/usage.js';
import { computeCost } from '#money/price.js';
import type { ChatRequest } from '../../../apps/upstream-sim/src/chat-request.js';
import { completionTokens, countTokens, promptTokens } from '../../../apps/upstream-sim/src/reply/usage-rule.js';
import { argumentsText, renderChat } from './chat-client.js';
import { type Case, findExceptions, type Mode } from './grid.js';
import type { Outcome } from './outcome.js';
import { type Ask, type ClientFormat, type Dialect, type Reply, type Scenario, TOOLS } from './scenario.js';
import { findPrice, upstreamAt } from './upstreams.js';

/** Expected outcome of a request: for its client, and on its bill. */
interface Expected {
  status: number;
  seen: Outcome['seen'];
  bill: Bill;
}

export interface Bill {
  reason: SettleReason;
  upstream: string | null;
  usage: Usage;
  costPicoUsd: string;
}

const NOTHING: Usage = NO_USAGE;

/** Computed from the scenario alone. */
export function buildExpectation(one: Case, mode: Mode): Expected {
  return one.scenario.failure ? failing(one, mode) : replying(one, mode);
}

function replying(one: Case, mode: Mode): Expected {
  const { scenario, client, dialect } = one;
  const exceptions = findExceptions(one, mode);
  const written = findReply(scenario);
  const seen: Reply = Object.assign({}, written, ...exceptions.map(({ reply }) => reply));
  const ask = exceptions.some(({ withoutTools }) => withoutTools) ? { ...scenario.ask, tools: [] } : scenario.ask;
  const counted = reported({ ...scenario, ask }, Object.assign({}, written, ...exceptions.map((exception) => exception.written)));
  // Converse counts reasoning among the output alone.
  const usage = dialect === 'bedrock-converse' ? { ...counted, reasoningTokens: 0 } : counted;
  const { promptSource: _promptSource, outputSource: _outputSource, reasoningTokens, ...shown } = usage;
  return {
    status: 200,
    seen: { ...seen, usage: client === 'messages' ? shown : { ...shown, reasoningTokens } },
    bill: { reason: 'completed', upstream: upstreamAt(dialect), usage, costPicoUsd: cost(scenario, usage) },
  };
}

function failing({ scenario, client, dialect }: Case, mode: Mode): Expected {
  const { code, status, textBefore = '', writtenBefore = textBefore } = scenario.failure ?? { code: 'internal_error', status: 500 };
  const hasContent = mode === 'streamed' && writtenBefore !== '';
  const usage = hasContent ? broken(scenario.ask, dialect, writtenBefore) : NOTHING;
  return {
    status: hasContent ? 200 : status,
    seen: { word: findWord(code, client), text: hasContent ? textBefore : '' },
    bill: { reason: 'failed', upstream: upstreamAt(dialect), usage, costPicoUsd: cost(scenario, usage) },
  };
}

function findReply({ reply }: Scenario): Reply {
  return { reasoning: '', text: '', calls: [], ending: 'end', ...reply };
}

/** Usage by the rule of the simulator (apps/upstream-sim/README.md), the same in all dialects. */
function reported({ ask, cachedTokens = 0 }: Scenario, { reasoning, text, calls }: Reply): Usage {
  return {
    promptTokens: promptTokens(chatPrompt(ask)),
    cachedTokens,
    outputTokens: completionTokens({
      text,
      reasoning,
      calls: calls.map(({ name, input }) => ({ name, arguments: argumentsText(name, input) })),
    }),
    reasoningTokens: countTokens(reasoning),
    promptSource: 'reported',
    outputSource: 'reported',
  };
}

/** The prompt as it reaches upstreams: every schema of a tool has `properties`. */
function chatPrompt(ask: Ask): ChatRequest {
  const chat = renderChat(ask, '', true);
  const tools = (chat.tools as { function: { parameters?: object } }[] | undefined)?.map((tool) => ({
    ...tool,
    function: { ...tool.function, parameters: { properties: {}, ...tool.function.parameters } },
  }));
  return { ...chat, tools } as unknown as ChatRequest;
}

/**
 * Usage of a reply that breaks: the prompt as the upstream has counted it at the start, else Tollgate's estimate, which is four bytes of
 * text a token for prompt and output (docs/money.md).
 */
function broken(ask: Ask, dialect: Dialect, text: string): Usage {
  const chat = chatPrompt(ask);
  const isCounted = dialect === 'anthropic-messages';
  return {
    promptTokens: isCounted ? promptTokens(chat) : estimateOutputTokens(textBytes(ask)),
    cachedTokens: 0,
    outputTokens: estimateOutputTokens(Buffer.byteLength(text)),
    reasoningTokens: 0,
    promptSource: isCounted ? 'reported' : 'estimated',
    outputSource: 'counted',
  };
}

function textBytes({ turns, tools = [] }: Ask): number {
  const texts = turns.map((turn) => (turn.role === 'user' ? turn.text : ''));
  const toolTexts = tools.flatMap((name) => [name, TOOLS[name].description, JSON.stringify(TOOLS[name].parameters)]);
  return Buffer.byteLength([...texts, ...toolTexts].join(''));
}

function cost({ ask }: Scenario, usage: Usage): string {
  return computeCost(usage, findPrice(ask.model ?? 'sim-fast')).toString();
}

/** Messages has error types instead of codes. */
function findWord(code: ErrorCode, client: ClientFormat): string {
  return client === 'messages' ? ERROR_CODES[code].type : code;
}

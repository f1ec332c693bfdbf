import type { Directives } from '../../directives.js';
import type { Json } from '../../field-checks.js';
import type { ReplyPlan } from '../../reply/plan-reply.js';
import type { PlannedCall } from '../../reply/requested-calls.js';
import { shapeUsage } from '../../reply/shape-usage.js';
import { countTokens } from '../../reply/usage-rule.js';
import { parseArguments } from '../parse-arguments.js';
import { pieces, wholeArguments } from '../pieces.js';
import type { ReplyEvent } from '../sim-dialect.js';
import { signCall } from './signature.js';

/** The body of a plain reply. */
export function renderContent(plan: ReplyPlan, directives: Directives, showsThoughts: boolean): string {
  const parts = [
    ...(plan.reasoning === '' || !showsThoughts ? [] : [thought(plan.reasoning)]),
    ...(plan.text === '' ? [] : [{ text: plan.text }]),
    ...callParts(plan, directives).map(({ part }) => part),
  ];
  return JSON.stringify(chunk(plan, parts, { finish: true, nousage: directives.nousage, usage: usageMetadata(plan, directives) }));
}

/** The chunks of a streamed reply. Each call is whole in a chunk of its own. */
export function* renderChunks(plan: ReplyPlan, directives: Directives, showsThoughts: boolean): Generator<ReplyEvent> {
  const padding = directives.pad ? { padding: 'x'.repeat(directives.pad) } : {};
  const event = (part: Json, tokens: number): ReplyEvent => ({ json: JSON.stringify({ ...chunk(plan, [part]), ...padding }), tokens });
  for (const { text, tokens } of showsThoughts ? pieces(plan.reasoning, directives) : []) yield event(thought(text), tokens);
  for (const { text, tokens } of pieces(plan.text, directives)) yield event({ text }, tokens);
  for (const { part, tokens } of callParts(plan, directives)) yield event(part, tokens);
  const last = chunk(plan, [{ text: '' }], { finish: true, nousage: directives.nousage, usage: usageMetadata(plan, directives) });
  yield { json: JSON.stringify(last), tokens: 0 };
}

interface Ending {
  finish?: true;
  nousage?: boolean | undefined;
  usage?: Json;
}

function chunk(plan: ReplyPlan, parts: Json[], { finish, nousage, usage }: Ending = {}): Json {
  const candidate = { content: { parts, role: 'model' }, ...(finish && { finishReason: FINISHES[plan.finish] ?? plan.finish }), index: 0 };
  return {
    candidates: [candidate],
    ...(finish && !nousage && { usageMetadata: usage }),
    modelVersion: plan.model,
    responseId: plan.id.replace('chatcmpl-', ''),
  };
}

const FINISHES: Record<string, string> = { stop: 'STOP', tool_calls: 'STOP', length: 'MAX_TOKENS', content_filter: 'SAFETY' };

function thought(text: string): Json {
  return { text, thought: true };
}

/** Returns the parts of the calls. The first of parallel calls has the signature. */
function callParts({ calls }: ReplyPlan, directives: Directives): { part: Json; tokens: number }[] {
  return calls.flatMap((call, index) => {
    const part = { functionCall: renderCall(call, directives), ...(index === 0 && { thoughtSignature: signCall(call.name) }) };
    const sent = { part, tokens: countTokens(call.name + call.arguments) };
    return directives.repeat ? [sent, { part, tokens: 0 }] : [sent];
  });
}

function renderCall({ id, name, arguments: text }: PlannedCall, directives: Directives): Json {
  const isEncoded = directives.arguments?.includes('encoded') === true;
  return { id, name, args: isEncoded ? wholeArguments(text, directives) : parseArguments(text) };
}

/** The same counts as in chat, except that thinking stands beside the candidates. */
function usageMetadata(plan: ReplyPlan, directives: Directives): Json {
  const usage = shapeUsage(plan.usage, directives);
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const thoughts = usage.completion_tokens_details?.reasoning_tokens ?? 0;
  return {
    promptTokenCount: usage.prompt_tokens,
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    candidatesTokenCount: usage.completion_tokens - thoughts,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    totalTokenCount: usage.total_tokens,
    serviceTier: plan.tier,
  };
}

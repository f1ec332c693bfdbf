import type { Directives } from '../../directives.js';
import type { Json } from '../../field-checks.js';
import type { ReplyPlan } from '../../reply/plan-reply.js';
import type { PlannedCall } from '../../reply/requested-calls.js';
import { shapeUsage } from '../../reply/shape-usage.js';
import { argumentPieces, inTurn, type Piece, pieces, wholeArguments } from '../pieces.js';
import type { ReplyEvent } from '../sim-dialect.js';
import type { ReplyShape } from './parse-request.js';

/** Fixed, so that the same request gives the same bytes. */
const CREATED = 1_700_000_000;

/** Finish reasons of completed responses. With any other one a response is incomplete. */
const GOOD_ENDS: ReadonlySet<string> = new Set(['stop', 'tool_calls']);
const INCOMPLETE_REASONS: Record<string, string> = { length: 'max_output_tokens' };

/** The body of a plain reply. */
export function renderResponse(plan: ReplyPlan, directives: Directives, shape: ReplyShape): string {
  const items = renderItems(plan, shape, directives).flatMap(({ whole, isCall }) =>
    isCall && directives.repeat ? [whole, whole] : [whole],
  );
  return JSON.stringify(responseObject(plan, directives, items));
}

/** The events of a streamed reply, the terminal one included. */
export function* renderResponseEvents(plan: ReplyPlan, directives: Directives, shape: ReplyShape): Generator<ReplyEvent> {
  let sequence = 0;
  const event = (type: string, fields: Json, tokens = 0): ReplyEvent => ({
    name: type,
    json: JSON.stringify({ type, ...fields, sequence_number: sequence++ }),
    tokens,
  });
  const padding = directives.pad ? { obfuscation: 'x'.repeat(directives.pad) } : {};
  const items = renderItems(plan, shape, directives);
  const begun = { ...responseObject(plan, directives, []), status: 'in_progress', incomplete_details: null, usage: null };
  const open = function* ({ empty, part, partType }: SimItem, index: number): Generator<ReplyEvent> {
    yield event('response.output_item.added', { output_index: index, item: empty });
    if (part) yield event(`response.${partType}.added`, { ...renderPlace(empty, index, part), part: part.empty });
  };
  const delta = (item: SimItem, index: number, { text, tokens }: Piece): ReplyEvent =>
    event(`response.${item.channel}.delta`, { ...renderPlace(item.empty, index, item.part), delta: text, ...padding }, tokens);
  const close = function* (item: SimItem, index: number): Generator<ReplyEvent> {
    const place = renderPlace(item.empty, index, item.part);
    yield event(`response.${item.channel}.done`, { ...place, [item.field]: item.text });
    if (item.part) yield event(`response.${item.partType}.done`, { ...place, part: item.part.whole });
    const done = { output_index: index, item: item.whole };
    yield event('response.output_item.done', done);
    if (item.isCall && directives.repeat) yield event('response.output_item.done', done);
  };
  const cut = (item: SimItem): Iterable<Piece> =>
    item.field === 'arguments' ? argumentPieces(item.text, directives) : pieces(item.text, directives);
  yield event('response.created', { response: begun });
  yield event('response.in_progress', { response: begun });
  const entries = [...items.entries()];
  const together = entries.filter(([, { isCall }]) => isCall && directives.interleave);
  const alone = entries.slice(0, entries.length - together.length);
  for (const [index, item] of alone) {
    yield* open(item, index);
    for (const piece of cut(item)) yield delta(item, index, piece);
    yield* close(item, index);
  }
  for (const [index, item] of together) yield* open(item, index);
  const queues = together.map(([index, item]) => [...cut(item)].map((piece) => ({ index, item, piece })));
  for (const { index, item, piece } of inTurn(queues)) yield delta(item, index, piece);
  for (const [index, item] of together) yield* close(item, index);
  const response = responseObject(
    plan,
    directives,
    items.map(({ whole }) => whole),
  );
  if (!directives.nodone) yield event(`response.${response.status}`, { response });
}

/** One output item: its first and last form, and the text that its deltas carry. */
interface SimItem {
  empty: Json;
  whole: Json;
  isCall: boolean;
  text: string;
  /** Middle part of the names of its delta events. */
  channel: string;
  /** Field of its done event that holds the whole text. */
  field: string;
  part?: { place: Json; empty: Json; whole: Json };
  partType?: string;
}

function renderItems(plan: ReplyPlan, shape: ReplyShape, directives: Directives): SimItem[] {
  const seed = plan.id.slice(-8);
  const items: SimItem[] = [];
  if (plan.reasoning !== '') items.push(reasoningItem(`rs_sim_${seed}`, plan.reasoning, shape.reasoningSummary));
  if (plan.text !== '' || items.length + plan.calls.length === 0) items.push(messageItem(`msg_sim_${seed}`, plan.text, plan.isRefusal));
  for (const [index, call] of plan.calls.entries()) {
    items.push(callItem(`fc_sim_${seed}_${index}`, call, shape.customTools.has(call.name), directives));
  }
  const last = items.at(-1);
  if (last !== undefined && last.whole.type !== 'reasoning' && plan.finish === 'length') last.whole.status = 'incomplete';
  return items;
}

function reasoningItem(id: string, text: string, isSummary: boolean): SimItem {
  const type = isSummary ? 'summary_text' : 'reasoning_text';
  const item = { id, type: 'reasoning', summary: [] };
  return {
    empty: item,
    whole: isSummary ? { ...item, summary: [{ type, text }] } : { ...item, content: [{ type, text }] },
    isCall: false,
    text,
    channel: isSummary ? 'reasoning_summary_text' : 'reasoning_text',
    field: 'text',
    part: { place: isSummary ? { summary_index: 0 } : { content_index: 0 }, empty: { type, text: '' }, whole: { type, text } },
    partType: isSummary ? 'reasoning_summary_part' : 'content_part',
  };
}

function messageItem(id: string, text: string, isRefusal: boolean): SimItem {
  const item = { id, type: 'message', role: 'assistant' };
  const part = (said: string): Json =>
    isRefusal ? { type: 'refusal', refusal: said } : { type: 'output_text', text: said, annotations: [], logprobs: [] };
  return {
    empty: { ...item, status: 'in_progress', content: [] },
    whole: { ...item, status: 'completed', content: [part(text)] },
    isCall: false,
    text,
    channel: isRefusal ? 'refusal' : 'output_text',
    field: isRefusal ? 'refusal' : 'text',
    part: { place: { content_index: 0 }, empty: part(''), whole: part(text) },
    partType: 'content_part',
  };
}

function callItem(id: string, call: PlannedCall, isCustom: boolean, directives: Directives): SimItem {
  const text = isCustom ? readInput(call.arguments) : call.arguments;
  const field = isCustom ? 'input' : 'arguments';
  const item = { id, type: isCustom ? 'custom_tool_call' : 'function_call', call_id: call.id, name: call.name };
  return {
    empty: { ...item, status: 'in_progress', [field]: '' },
    whole: { ...item, status: 'completed', [field]: isCustom ? text : wholeArguments(text, directives) },
    isCall: true,
    text,
    channel: isCustom ? 'custom_tool_call_input' : 'function_call_arguments',
    field,
  };
}

/** The input of a custom tool, which is planned as a function with one text parameter. Arguments that were cut stay as they are. */
function readInput(argumentsText: string): string {
  try {
    return String((JSON.parse(argumentsText) as { input?: unknown }).input ?? '');
  } catch {
    return argumentsText;
  }
}

function renderPlace(item: Json, index: number, part: SimItem['part']): Json {
  return { item_id: item.id, output_index: index, ...part?.place };
}

function responseObject(plan: ReplyPlan, directives: Directives, output: Json[]): Json {
  const usage = shapeUsage(plan.usage, directives);
  const reason = GOOD_ENDS.has(plan.finish) ? undefined : (INCOMPLETE_REASONS[plan.finish] ?? plan.finish);
  return {
    id: plan.id.replace('chatcmpl-sim-', 'resp_sim_'),
    object: 'response',
    created_at: CREATED,
    status: reason === undefined ? 'completed' : 'incomplete',
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: null,
    metadata: {},
    model: plan.model,
    output,
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    store: false,
    service_tier: plan.tier,
    usage: directives.nousage
      ? null
      : {
          input_tokens: usage.prompt_tokens,
          input_tokens_details: {
            cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
            ...(usage.cache_creation && { cache_creation_token_details: usage.cache_creation }),
          },
          output_tokens: usage.completion_tokens,
          output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
          total_tokens: usage.total_tokens,
        },
  };
}

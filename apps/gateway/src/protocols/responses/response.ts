import type { Completion } from '#inference/completion.js';
import type { ToolKey } from '#inference/tool.js';
import type { Usage } from '#inference/usage.js';
import type { ReplyContext, ReplyOptions } from '../protocol-adapter.js';
import { type ResponseEnd, renderFinishReason } from './finish-reason.js';
import type { ResponsesRequest } from './request.js';
import { renderUsage } from './usage.js';

/** The body of a plain reply (spec 2.5). Failures are HTTP errors, so it is completed or incomplete, never failed. */
export function renderCompletion(reply: ReplyContext, parsed: ReplyOptions<ResponsesRequest>, completion: Completion): string {
  const end = renderFinishReason(completion.finishReason);
  const items = outputItems(completion);
  const output = items.map((item, index) => {
    const status = index === items.length - 1 ? end.status : 'completed';
    return JSON.stringify(renderItem(itemId(reply, item.kind, index), item, status));
  });
  return responseRenderer(reply, parsed)({ ...end, output, usage: completion.usage });
}

/** One item of the output. `text` is the reasoning, the message, its refusal, or the arguments of a call. */
export type OutputItem =
  | { kind: 'reasoning' | 'message' | 'refusal'; text: string }
  | { kind: 'function' | 'custom'; text: string; callId: string; tool: ToolKey };

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/**
 * The order of spec 2.5. Text and refusals that came after a call are messages behind the calls, as they are in the stream: there
 * the first message was done when they began. A refusal is a message of its own.
 */
function outputItems({ text, trailingText, refusal, trailingRefusal, leadingReasoning, toolCalls }: Completion): OutputItem[] {
  const leadingText = text.slice(0, text.length - trailingText.length);
  const leadingRefusal = refusal.slice(0, refusal.length - trailingRefusal.length);
  const items: OutputItem[] = [];
  if (leadingReasoning !== '') items.push({ kind: 'reasoning', text: leadingReasoning });
  if (leadingText !== '') items.push({ kind: 'message', text: leadingText });
  if (leadingRefusal !== '') items.push({ kind: 'refusal', text: leadingRefusal });
  for (const { kind, argumentsText, callId, tool } of toolCalls) items.push({ kind, text: argumentsText, callId, tool });
  if (isWorthAMessage(trailingText)) items.push({ kind: 'message', text: trailingText });
  if (isWorthAMessage(trailingRefusal)) items.push({ kind: 'refusal', text: trailingRefusal });
  return items;
}

/** Many models end with a line break after their calls. */
export function isWorthAMessage(trailingText: string): boolean {
  return trailingText.trim() !== '';
}

const ID_PREFIXES = { reasoning: 'rs', message: 'msg', refusal: 'msg', function: 'fc', custom: 'ctc' } satisfies Record<
  OutputItem['kind'],
  string
>;

/** Made of the reply's id and the item's place: never empty, unique, the same in every event, and no `call_id`. */
export function itemId(reply: ReplyContext, kind: OutputItem['kind'], outputIndex: number): string {
  return `${ID_PREFIXES[kind]}_${reply.id}_${outputIndex}`;
}

/** An item as it is added, `in_progress` and still empty, or as it is done. */
export function renderItem(id: string, item: OutputItem, status: ItemStatus) {
  const added = status === 'in_progress';
  switch (item.kind) {
    case 'reasoning':
      return { id, type: 'reasoning', status, summary: added ? [] : [renderSummary(item.text)], encrypted_content: null };
    case 'message':
      return { id, type: 'message', status, role: 'assistant', content: added ? [] : [renderText(item.text)] };
    case 'refusal':
      return { id, type: 'message', status, role: 'assistant', content: added ? [] : [renderRefusal(item.text)] };
    case 'function':
      return { id, type: 'function_call', status, call_id: item.callId, ...renderKey(item.tool), arguments: added ? '' : item.text };
    case 'custom':
      return { id, type: 'custom_tool_call', status, call_id: item.callId, ...renderKey(item.tool), input: added ? '' : item.text };
  }
}

/** The namespace comes back beside the plain name: clients look for the tool by both (D9, T-6). */
function renderKey({ name, namespace }: ToolKey) {
  return namespace === undefined ? { name } : { name, namespace };
}

export function renderSummary(text: string) {
  return { type: 'summary_text', text };
}

export function renderText(text: string) {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

export function renderRefusal(refusal: string) {
  return { type: 'refusal', refusal };
}

export interface ResponseState {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  incompleteReason?: ResponseEnd['incompleteReason'];
  error?: { code: string; message: string };
  /** Rendered items. */
  output: readonly string[];
  usage?: Usage;
}

/**
 * Renders the Response object in any of its states, always with the vendor's full set of fields. What never changes,
 * above all the echo of the request, is made into text once.
 */
export function responseRenderer(reply: ReplyContext, { echo }: ReplyOptions<ResponsesRequest>): (state: ResponseState) => string {
  const head = JSON.stringify({ id: `resp_${reply.id}`, object: 'response', created_at: reply.createdSeconds }).slice(0, -1);
  const tail = `"model":${JSON.stringify(reply.model)},${echo.slice(1, -1)},${NOT_OFFERED}`;
  return ({ status, incompleteReason, error, output, usage }) => {
    const details = incompleteReason === undefined ? null : { reason: incompleteReason };
    const completedAt = status === 'completed' ? reply.nowSeconds() : null; // of no other status, as the vendor has it
    return (
      `${head},"completed_at":${completedAt},"status":"${status}","error":${JSON.stringify(error ?? null)},` +
      `"incomplete_details":${JSON.stringify(details)},"output":[${output.join(',')}],` +
      `"usage":${JSON.stringify(usage === undefined ? null : renderUsage(usage))},${tail}`
    );
  };
}

/** What the service does not do, in the fields that say so; the schemas of some clients require them. The end of an object's text. */
const NOT_OFFERED = JSON.stringify({
  access_programs: null,
  background: false,
  frequency_penalty: 0,
  max_tool_calls: null,
  presence_penalty: 0,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  top_logprobs: 0,
  truncation: 'disabled',
  user: null,
}).slice(1);

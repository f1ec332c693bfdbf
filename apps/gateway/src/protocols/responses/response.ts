import type { Completion } from '#inference/completion.js';
import type { ToolKey } from '#inference/tool.js';
import type { ReplyContext, ReplyOptions, ShownCompletion, ShownUsage } from '../protocol-adapter.js';
import { type ResponseEnd, renderFinishReason } from './finish-reason.js';
import type { ResponsesRequest } from './request.js';
import { renderUsage } from './usage.js';

/** Renders the body of a plain reply. It is completed or incomplete, never failed: a plain failure is an HTTP error. */
export function renderCompletion(reply: ReplyContext, parsed: ReplyOptions<ResponsesRequest>, completion: ShownCompletion): string {
  const end = renderFinishReason(completion.finishReason);
  const items = outputItems(completion);
  const output = items.map((item, index) => {
    const status = index === items.length - 1 ? end.status : 'completed';
    return JSON.stringify(renderItem(itemId(reply, item.kind, index), item, status));
  });
  return responseRenderer(reply, parsed)({ ...end, output, usage: completion.usage });
}

/** One item of the output. `text` is the reasoning, the message, the refusal, or the arguments of a call. */
export type OutputItem =
  | { kind: 'reasoning' | 'message' | 'refusal'; text: string }
  | { kind: 'function' | 'custom'; text: string; callId: string; tool: ToolKey };

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/**
 * Returns the items in order: reasoning, message, refusal, calls. Text and refusals after a call become messages behind the calls, as in a
 * stream, where the first message was done before the calls began.
 */
function outputItems({ text, trailingText, refusal, trailingRefusal, leadingReasoning, toolCalls }: Completion): OutputItem[] {
  const leadingText = text.slice(0, text.length - trailingText.length);
  const leadingRefusal = refusal.slice(0, refusal.length - trailingRefusal.length);
  const items: OutputItem[] = [];
  if (leadingReasoning !== '') items.push({ kind: 'reasoning', text: leadingReasoning });
  if (leadingText !== '') items.push({ kind: 'message', text: leadingText });
  if (leadingRefusal !== '') items.push({ kind: 'refusal', text: leadingRefusal });
  for (const { kind, argumentsText, callId, tool } of toolCalls) items.push({ kind, text: argumentsText, callId, tool });
  if (hasVisibleText(trailingText)) items.push({ kind: 'message', text: trailingText });
  if (hasVisibleText(trailingRefusal)) items.push({ kind: 'refusal', text: trailingRefusal });
  return items;
}

/** False for white space: many models write a line break after their calls. */
export function hasVisibleText(trailingText: string): boolean {
  return trailingText.trim() !== '';
}

const ID_PREFIXES = { reasoning: 'rs', message: 'msg', refusal: 'msg', function: 'fc', custom: 'ctc' } satisfies Record<
  OutputItem['kind'],
  string
>;

/** Returns the id of an item: unique, the same in every event, and different from the `call_id`. */
export function itemId(reply: ReplyContext, kind: OutputItem['kind'], outputIndex: number): string {
  return `${ID_PREFIXES[kind]}_${reply.id}_${outputIndex}`;
}

/** Renders an item. With `in_progress` it is empty, as `output_item.added` requires. */
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

/** Renders the name of a tool and its namespace, if any: clients look it up by both. */
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
  /** Items, each as JSON text. */
  output: readonly string[];
  usage?: ShownUsage;
}

/**
 * Returns a function that renders the Response object in any state, always with OpenAI's full set of fields. The constant parts, above
 * all the echo of the request, are rendered once.
 */
export function responseRenderer(reply: ReplyContext, { echo }: ReplyOptions<ResponsesRequest>): (state: ResponseState) => string {
  const head = JSON.stringify({ id: `resp_${reply.id}`, object: 'response', created_at: reply.createdSeconds }).slice(0, -1);
  const tail = `"model":${JSON.stringify(reply.model)},${echo.slice(1, -1)},${NOT_OFFERED}`;
  return ({ status, incompleteReason, error, output, usage }) => {
    const details = incompleteReason === undefined ? null : { reason: incompleteReason };
    const completedAt = status === 'completed' ? reply.nowSeconds() : null; // null in any other status, as at OpenAI
    return (
      `${head},"completed_at":${completedAt},"status":"${status}","error":${JSON.stringify(error ?? null)},` +
      `"incomplete_details":${JSON.stringify(details)},"output":[${output.join(',')}],` +
      `"usage":${JSON.stringify(usage === undefined ? null : renderUsage(usage))},${tail}`
    );
  };
}

/** Fields for features that the gateway does not offer, as the end of a JSON object. Some clients require them. */
const NOT_OFFERED = JSON.stringify({
  access_programs: null,
  background: false,
  frequency_penalty: 0,
  max_tool_calls: null,
  presence_penalty: 0,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  service_tier: 'default',
  store: false,
  top_logprobs: 0,
  truncation: 'disabled',
}).slice(1);

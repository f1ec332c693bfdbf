import type { Completion } from '#inference/completion.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { RequestExample } from '../protocols/json-schema/json-schema.js';
import type { ParsedRequest, ProtocolAdapter, ReplyContext } from '../protocols/protocol-adapter.js';

const CREATED = 1_760_000_000;
const USAGE: Usage = {
  promptTokens: 12,
  cachedTokens: 4,
  outputTokens: 9,
  reasoningTokens: 0,
  promptSource: 'reported',
  outputSource: 'reported',
};
const EVENTS: StreamEvent[] = [
  { type: 'reasoning-delta', text: 'A greeting.' },
  { type: 'text-delta', text: 'Hello' },
  { type: 'text-delta', text: '!' },
];
const TEXT: Completion = {
  text: 'Hello!',
  trailingText: '',
  refusal: '',
  trailingRefusal: '',
  reasoning: '',
  leadingReasoning: '',
  toolCalls: [],
  finishReason: 'stop',
  usage: USAGE,
};
const CALL: Completion = {
  ...TEXT,
  text: '',
  toolCalls: [{ callId: 'call_1', tool: { name: 'get_weather' }, kind: 'function', argumentsText: '{"city":"Rome"}' }],
  finishReason: 'tool-calls',
};

interface Example {
  summary: string;
  value: unknown;
}

/** Returns a text reply and a tool call as the adapter renders them, so that the examples always match real replies. */
export function plainReplyExamples<Parsed extends ParsedRequest>(
  adapter: ProtocolAdapter<Parsed>,
  requests: Record<string, RequestExample>,
): Record<string, Example> {
  const reply = (request: string, completion: Completion): unknown => {
    const parsed = adapter.parseRequest(requests[request]?.value);
    return JSON.parse(adapter.renderCompletion(makeContext(parsed), parsed, completion));
  };
  return {
    text: { summary: 'A reply in words', value: reply('plain', TEXT) },
    'tool-call': { summary: 'A call of a tool', value: reply('tools', CALL) },
  };
}

/** Returns the data of the first event of each kind in one streamed reply. */
export function streamedReplyExamples<Parsed extends ParsedRequest>(
  adapter: ProtocolAdapter<Parsed>,
  requests: Record<string, RequestExample>,
): Record<string, Example> {
  const parsed = adapter.parseRequest(requests.streamed?.value);
  const renderer = adapter.renderStream(makeContext(parsed), parsed);
  const stream = renderer.render(EVENTS) + renderer.finish('stop', USAGE);
  const examples: Record<string, Example> = {};
  for (const [, data = ''] of stream.matchAll(/^data: (.*)$/gm)) {
    const value = data === '[DONE]' ? data : JSON.parse(data);
    const kind = findKind(value);
    examples[kind] ??= { summary: kind, value };
  }
  return examples;
}

/** Returns the event's type, or for a chunk the name of its content. */
function findKind(value: { type?: string; choices?: { delta: object; finish_reason: string | null }[] } | string): string {
  if (typeof value === 'string') return 'done';
  if (value.type !== undefined) return value.type;
  const [choice] = value.choices ?? [];
  if (choice === undefined) return 'usage';
  return choice.finish_reason === null ? Object.keys(choice.delta).join('-') : 'finish';
}

function makeContext({ request: { model } }: ParsedRequest): ReplyContext {
  const id = '019a98a1c0de7f00a1b2c3d4e5f60718';
  return { id, requestId: `req_${id}`, createdSeconds: CREATED, nowSeconds: () => CREATED + 1, model };
}

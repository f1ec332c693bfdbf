import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { UpstreamAdapter } from '../src/upstreams/upstream-adapter.js';

type Payload = Record<string, unknown>;
type Finish = Extract<StreamEvent, { type: 'completion-finish' }>;

/** Returns the payloads that an upstream of this kind sends for these events. The last event is the finish. */
export function writeStream(kind: UpstreamAdapter['kind'], events: readonly StreamEvent[]): string[] {
  const finish = events.at(-1) as Finish;
  const said = foldEvents(events);
  return WRITERS[kind](events.slice(0, -1), finish, said).map((payload) =>
    typeof payload === 'string' ? payload : JSON.stringify(payload),
  );
}

interface Said {
  text: string;
  reasoning: string;
  calls: { id: string; name: string; kind: string; text: string }[];
  finish: FinishReason | undefined;
  usage: Usage | undefined;
}

/** Folds events into what every dialect can express, independent of their order and cuts. */
export function foldEvents(events: readonly StreamEvent[]): Said {
  const said: Said = { text: '', reasoning: '', calls: [], finish: undefined, usage: undefined };
  const calls: Said['calls'] = [];
  for (const event of events) {
    if (event.type === 'text-delta' || event.type === 'refusal-delta') said.text += event.text;
    else if (event.type === 'reasoning-delta') said.reasoning += event.text;
    else if (event.type === 'tool-call-start') {
      calls[event.index] = { id: event.callId, name: event.tool.name, kind: event.kind, text: '' };
    } else if (event.type === 'tool-call-delta') (calls[event.index] as { text: string }).text += event.text;
    // A report of zeros counts as none.
    else if (event.type === 'usage-report') said.usage = event.usage.promptTokens + event.usage.outputTokens > 0 ? event.usage : said.usage;
    else if (event.type === 'completion-finish') said.finish = event.reason;
  }
  said.calls = calls.sort((one, other) => (one.id < other.id ? -1 : 1));
  if (said.finish !== 'length' && said.finish !== 'content-filter') said.finish = calls.length > 0 ? 'tool-calls' : 'stop';
  return said;
}

type Writer = (events: readonly StreamEvent[], finish: Finish, said: Said) => (Payload | string)[];

const WRITERS: Record<UpstreamAdapter['kind'], Writer> = {
  'openai-chat': (events, { reason }) => {
    const delta = (fields: Payload) => ({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: fields, finish_reason: null }] });
    const words = {
      stop: 'stop',
      'stop-sequence': 'stop',
      length: 'length',
      'tool-calls': 'tool_calls',
      'content-filter': 'content_filter',
    };
    const payloads = events.flatMap((event) => {
      switch (event.type) {
        case 'text-delta':
          return delta({ content: event.text });
        case 'reasoning-delta':
          return delta({ reasoning_content: event.text });
        case 'refusal-delta':
          return delta({ refusal: event.text });
        case 'tool-call-start': {
          const called = { name: event.tool.name, arguments: '' };
          return delta({ tool_calls: [{ index: event.index, id: event.callId, type: 'function', function: called }] });
        }
        case 'tool-call-delta':
          return delta({ tool_calls: [{ index: event.index, function: { arguments: event.text } }] });
        case 'usage-report':
          return { object: 'chat.completion.chunk', choices: [], usage: chatUsage(event.usage) };
        default:
          return [];
      }
    });
    return [...payloads, { choices: [{ index: 0, delta: {}, finish_reason: words[reason] }] }, '[DONE]'];
  },

  'anthropic-messages': (events, { reason }, said) => {
    const words = {
      stop: 'end_turn',
      'stop-sequence': 'end_turn',
      length: 'max_tokens',
      'tool-calls': 'tool_use',
      'content-filter': 'refusal',
    };
    const blocks = new Map<number, number>();
    let next = 0;
    const whole = (block: Payload, delta: Payload) => {
      const index = next++;
      return [
        { type: 'content_block_start', index, content_block: block },
        { type: 'content_block_delta', index, delta },
        { type: 'content_block_stop', index },
      ];
    };
    const payloads = events.flatMap((event): Payload[] => {
      switch (event.type) {
        case 'text-delta':
        case 'refusal-delta':
          return whole({ type: 'text', text: '' }, { type: 'text_delta', text: event.text });
        case 'reasoning-delta':
          return whole({ type: 'thinking', thinking: '', signature: '' }, { type: 'thinking_delta', thinking: event.text });
        case 'tool-call-start': {
          blocks.set(event.index, next);
          const block = { type: 'tool_use', id: event.callId, name: event.tool.name, input: {} };
          return [{ type: 'content_block_start', index: next++, content_block: block }];
        }
        case 'tool-call-delta': {
          const delta = { type: 'input_json_delta', partial_json: event.text };
          return [{ type: 'content_block_delta', index: blocks.get(event.index), delta }];
        }
        case 'tool-call-end':
          return [{ type: 'content_block_stop', index: blocks.get(event.index) }];
        case 'usage-report':
          return [
            { type: 'message_delta', delta: { stop_reason: null }, usage: messagesUsage(soFar(event.usage, said.usage)) },
            { type: 'ping' },
          ];
        default:
          return [];
      }
    });
    const start = { type: 'message_start', message: { type: 'message', role: 'assistant', content: [], usage: { output_tokens: 1 } } };
    return [start, ...payloads, { type: 'message_delta', delta: { stop_reason: words[reason] } }, { type: 'message_stop' }];
  },

  'openai-responses': (events, { reason }, said) => {
    const items: Payload[] = [];
    const pieces = (item: Payload, channel: string, delta: string) => ({ type: `response.${channel}.delta`, item_id: item.id, delta });
    const add = (item: Payload) => {
      items.push(item);
      return { type: 'response.output_item.added', output_index: items.length - 1, item };
    };
    const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [] };
    const thought = { id: 'rs_1', type: 'reasoning', summary: [] };
    const opening = [add(thought), add(message)];
    const calls: Payload[] = [];
    const payloads = events.flatMap((event): Payload[] => {
      switch (event.type) {
        case 'text-delta':
        case 'refusal-delta':
          return [{ ...pieces(message, 'output_text', event.text), content_index: 0 }];
        case 'reasoning-delta':
          return [{ ...pieces(thought, 'reasoning_summary_text', event.text), summary_index: 0 }];
        case 'tool-call-start': {
          const custom = event.kind === 'custom';
          const field = custom ? { input: '' } : { arguments: '' };
          const type = custom ? 'custom_tool_call' : 'function_call';
          calls[event.index] = { id: `item_${event.index}`, type, call_id: event.callId, name: event.tool.name, ...field };
          return [add(calls[event.index] as Payload)];
        }
        case 'tool-call-delta': {
          const item = calls[event.index] as Payload;
          const custom = item.type === 'custom_tool_call';
          return [pieces(item, custom ? 'custom_tool_call_input' : 'function_call_arguments', event.text)];
        }
        case 'tool-call-end': {
          const item = calls[event.index] as Payload;
          const text = said.calls.find(({ id }) => id === item.call_id)?.text;
          Object.assign(item, item.type === 'custom_tool_call' ? { input: text } : { arguments: text });
          return [{ type: 'response.output_item.done', output_index: items.indexOf(item), item: { ...item } }];
        }
        default:
          return [];
      }
    });
    const details = { length: 'max_output_tokens', 'content-filter': 'content_filter' }[reason as string];
    const status = details === undefined ? 'completed' : 'incomplete';
    const output = items.map((item) =>
      item === message
        ? { ...message, content: [{ type: 'output_text', text: said.text }] }
        : item === thought
          ? { ...thought, summary: [{ type: 'summary_text', text: said.reasoning }] }
          : item,
    );
    const response = {
      object: 'response',
      status,
      output,
      usage: responsesUsage(said.usage),
      ...(details && { incomplete_details: { reason: details } }),
    };
    return [
      { type: 'response.created', response: { object: 'response', status: 'in_progress' } },
      ...opening,
      ...payloads,
      { type: `response.${status}`, response },
    ];
  },

  gemini: (events, { reason }, said) => {
    const words = { length: 'MAX_TOKENS', 'content-filter': 'SAFETY' } as const;
    const chunk = (part: Payload, more: Payload = {}) => ({
      candidates: [{ index: 0, content: { role: 'model', parts: [part] } }],
      ...more,
    });
    const ids = events.flatMap((event) => (event.type === 'tool-call-start' ? [event.callId] : []));
    const payloads = events.flatMap((event): Payload[] => {
      switch (event.type) {
        case 'text-delta':
        case 'refusal-delta':
          return [chunk({ text: event.text })];
        case 'reasoning-delta':
          return [chunk({ text: event.text, thought: true })];
        case 'tool-call-end': {
          const call = said.calls.find(({ id }) => id === ids[event.index]);
          return [chunk({ functionCall: { id: call?.id, name: call?.name, args: call?.text } })];
        }
        case 'usage-report':
          return [{ candidates: [], usageMetadata: geminiUsage(said.usage ?? event.usage) }]; // cumulative, part by part
        default:
          return [];
      }
    });
    return [...payloads, { candidates: [{ index: 0, finishReason: words[reason as keyof typeof words] ?? 'STOP' }] }];
  },

  'bedrock-converse': (events, { reason }, said) => {
    const words = {
      stop: 'end_turn',
      'stop-sequence': 'end_turn',
      length: 'max_tokens',
      'tool-calls': 'tool_use',
      'content-filter': 'guardrail_intervened',
    };
    const delta = (contentBlockIndex: number, fields: Payload) => [{ contentBlockDelta: { contentBlockIndex, delta: fields } }];
    const payloads = events.flatMap((event): Payload[] => {
      switch (event.type) {
        case 'text-delta':
        case 'refusal-delta':
          return delta(0, { text: event.text });
        case 'reasoning-delta':
          return delta(1, { reasoningContent: { text: event.text } });
        case 'tool-call-start': {
          const start = { toolUse: { toolUseId: event.callId, name: event.tool.name } };
          return [{ contentBlockStart: { contentBlockIndex: event.index + 2, start } }];
        }
        case 'tool-call-delta':
          return delta(event.index + 2, { toolUse: { input: event.text } });
        case 'tool-call-end':
          return [{ contentBlockStop: { contentBlockIndex: event.index + 2 } }];
        default:
          return [];
      }
    });
    const metadata = said.usage === undefined ? [] : [{ metadata: { usage: converseUsage(said.usage) } }];
    return [{ messageStart: { role: 'assistant' } }, ...payloads, { messageStop: { stopReason: words[reason] } }, ...metadata];
  },
};

function converseUsage({ promptTokens, cachedTokens, outputTokens }: Usage): Payload {
  const input = { inputTokens: promptTokens - cachedTokens, cacheReadInputTokens: cachedTokens, cacheWriteInputTokens: 0 };
  return { ...input, outputTokens, totalTokens: promptTokens + outputTokens };
}

function chatUsage({ promptTokens, cachedTokens, outputTokens, reasoningTokens }: Usage): Payload {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

/** Usage in this dialect is cumulative: an early count never exceeds the last. */
function soFar(usage: Usage, last: Usage | undefined): Usage {
  return {
    promptTokens: Math.min(usage.promptTokens, last?.promptTokens ?? 0),
    cachedTokens: Math.min(usage.cachedTokens, last?.cachedTokens ?? 0),
    outputTokens: Math.min(usage.outputTokens, last?.outputTokens ?? 0),
    reasoningTokens: Math.min(usage.reasoningTokens, last?.reasoningTokens ?? 0),
    promptSource: usage.promptSource,
    outputSource: usage.outputSource,
  };
}

function messagesUsage({ promptTokens, cachedTokens, outputTokens, reasoningTokens }: Usage): Payload {
  const details = { thinking_tokens: reasoningTokens };
  const input = { input_tokens: promptTokens - cachedTokens, cache_read_input_tokens: cachedTokens, cache_creation_input_tokens: null };
  return { ...input, output_tokens: outputTokens, output_tokens_details: details };
}

function geminiUsage({ promptTokens, cachedTokens, outputTokens, reasoningTokens }: Usage): Payload {
  return {
    promptTokenCount: promptTokens,
    cachedContentTokenCount: cachedTokens,
    candidatesTokenCount: outputTokens - reasoningTokens,
    thoughtsTokenCount: reasoningTokens,
    totalTokenCount: promptTokens + outputTokens,
  };
}

function responsesUsage(usage: Usage | undefined): Payload | null {
  if (usage === undefined) return null;
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.promptTokens + usage.outputTokens,
  };
}

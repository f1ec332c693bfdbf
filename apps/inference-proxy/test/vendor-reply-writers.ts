import type { Upstream } from '#contracts/catalog.js';
import { CAPS, type CallPiece, type Piece, type UsageShape, type VendorReply } from './vendor-replies.js';

type Json = Record<string, unknown>;

/** One server-sent event. */
interface Sent {
  name?: string;
  lines: string[];
}

/** The upstream of one dialect, which writes what its vendor says. */
interface ReplyWriter {
  /** The events of a stream, without their end marker. */
  stream(reply: VendorReply): Sent[];
  marker: Sent | undefined;
  plain(reply: VendorReply): Json;
}

const ERROR = { message: 'The engine has failed.', type: 'server_error', code: 'server_error' };

/** Returns the events of a stream, each with its blank line. */
export function writeEvents(kind: Upstream['kind'], reply: VendorReply): string[] {
  const { stream, marker } = WRITERS[kind];
  const events = stream(reply);
  const end = marker ?? { lines: ['[DONE]'] };
  if (reply.marker === 'own event') events.push(end);
  else if (reply.marker === 'second line') events.at(-1)?.lines.push(...end.lines);
  return events.map(
    ({ name, lines }) => `${name === undefined ? '' : `event: ${name}\n`}${lines.map((line) => `data: ${line}\n`).join('')}\n`,
  );
}

/** Returns the body of a plain reply. */
export function writePlain(kind: Upstream['kind'], reply: VendorReply): string {
  return JSON.stringify(reply.error === 'none' ? WRITERS[kind].plain(reply) : renderError(kind));
}

function renderError(kind: Upstream['kind']): Json {
  return kind === 'openai-responses' || kind === 'anthropic-messages' ? { type: 'error', error: ERROR } : { error: ERROR };
}

function data(value: Json): Sent {
  return typeof value.type === 'string' ? { name: value.type, lines: [JSON.stringify(value)] } : { lines: [JSON.stringify(value)] };
}

/** Puts the error of a reply at its place around the events of the finish. */
function withError(kind: Upstream['kind'], { error }: VendorReply, finish: Sent[]): Sent[] {
  if (error === 'none') return finish;
  return error === 'before the finish' ? [data(renderError(kind)), ...finish] : [...finish, data(renderError(kind))];
}

/** Names of the counts in one dialect of OpenAI. */
interface Names {
  prompt: string;
  output: string;
}

const CHAT_NAMES: Names = { prompt: 'prompt_tokens', output: 'completion_tokens' };
const RESPONSES_NAMES: Names = { prompt: 'input_tokens', output: 'output_tokens' };

function openaiUsage({ usage, counts, nonsense }: VendorReply, names: Names): unknown {
  const { prompt: p, cached, output: o, thinking } = counts;
  const report = (prompt: unknown, output: unknown, total: unknown, details: Json = {}): Json => ({
    [names.prompt]: prompt,
    [names.output]: output,
    ...(total !== undefined && { total_tokens: total }),
    ...details,
  });
  const cachedIs = (count: number): Json => ({ [`${names.prompt}_details`]: { cached_tokens: count } });
  const thinkingIs = (count: number): Json => ({ [`${names.output}_details`]: { reasoning_tokens: count } });
  const shapes: Record<UsageShape, () => unknown> = {
    details: () => report(p, o, p + o, { ...cachedIs(cached), ...thinkingIs(thinking) }),
    bare: () => report(p, o, undefined),
    digits: () => report(`${p}`, `${o}`, `${p + o}`),
    'thinking in the total': () => report(p, o - thinking, p + o),
    'thinking beside the output': () => report(p, o - thinking, p + o, thinkingIs(thinking)),
    'details of zero': () => report(p, o - thinking, p + o, { ...cachedIs(0), ...thinkingIs(0) }),
    'cached tokens beside the prompt': () => report(p, o, p + cached + o, cachedIs(cached)),
    'total of something else': () => report(p, o, 1_000_000_000),
    'above the cap': () => report(p, CAPS.outputTokensMax + o, p + CAPS.outputTokensMax + o),
    'beyond all numbers': () => report(1e300, 1e300, undefined),
    'without the prompt': () => report(0, o, o),
    'without the output': () => report(p, 0, p),
    zeros: () => report(0, 0, 0),
    nulls: () => report(null, null, null),
    null: () => null,
    absent: () => undefined,
    nonsense: () => report(nonsense, [nonsense], { nonsense }, { [`${names.prompt}_details`]: nonsense }),
  };
  return shapes[usage]();
}

/** Returns what a reply has counted by its nth piece, from a server that reports with every event: never more than at its end. */
function countsSoFar({ counts, usage, usageAt }: VendorReply, nth: number): Json {
  const isCounted = ['details', 'bare', 'above the cap'].includes(usage);
  if (!isCounted || usageAt !== 'everywhere') return {};
  return { usage: { prompt_tokens: counts.prompt, completion_tokens: Math.min(nth, counts.output - counts.thinking) } };
}

const chat: ReplyWriter = {
  stream: (reply) => {
    const { pieces, early, word, usageAt } = reply;
    const chunk = (delta: Json, said: string | null, more: Json = {}): Sent =>
      data({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: said }], ...more });
    const usage = { usage: openaiUsage(reply, CHAT_NAMES) };
    const apart = data({ object: 'chat.completion.chunk', choices: [], ...usage });
    const isOnFinish = usageAt === 'with the finish' || usageAt === 'everywhere';
    const finish = chunk({}, word.said, isOnFinish ? usage : {});
    const ending = isOnFinish ? [finish] : usageAt === 'before the finish' ? [apart, finish] : [finish, apart];
    return [
      chunk({ role: 'assistant', content: '' }, null),
      ...pieces.flatMap((piece, n) => {
        const deltas = chatDeltas(piece, n);
        return deltas.map((delta, at) => chunk(delta, n === 0 && at === deltas.length - 1 ? early.said : null, countsSoFar(reply, n + 1)));
      }),
      ...withError('openai-chat', reply, ending),
    ];
  },
  marker: { lines: ['[DONE]'] },
  plain: (reply) => {
    const { pieces, word } = reply;
    const text = joined(pieces, 'text');
    const thinking = joined(pieces, 'thinking');
    const calls = pieces.flatMap((piece, n) => (piece.type === 'call' ? [chatCall(piece, n)] : []));
    const message = {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(thinking !== '' && { reasoning_content: thinking }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    return { object: 'chat.completion', choices: [{ index: 0, message, finish_reason: word.said }], usage: openaiUsage(reply, CHAT_NAMES) };
  },
};

function chatDeltas(piece: Piece, index: number): Json[] {
  if (piece.type === 'text') return [{ content: piece.text }];
  if (piece.type === 'thinking') return [{ reasoning_content: piece.text }];
  return [{ tool_calls: [chatCall({ ...piece, text: '' }, index)] }, { tool_calls: [{ index, function: { arguments: piece.text } }] }];
}

function chatCall({ id, name, text }: CallPiece, index: number): Json {
  return { index, id, type: 'function', function: { name, arguments: text } };
}

function joined(pieces: readonly Piece[], type: Piece['type']): string {
  return pieces.map((piece) => (piece.type === type ? piece.text : '')).join('');
}

const messages: ReplyWriter = {
  stream: (reply) => {
    const { pieces, early, word, usageAt } = reply;
    const usage = messagesUsage(reply);
    const inStart = usageAt === 'everywhere' && typeof usage === 'object' && usage !== null;
    const reportedAt = inStart ? { output_tokens: (usage as Json).output_tokens } : usage;
    const change = (said: string | null, more: Json): Sent => data({ type: 'message_delta', delta: { stop_reason: said }, ...more });
    const finish = change(word.said, usageAt === 'with the finish' || inStart ? { usage: reportedAt } : {});
    const apart = change(null, { usage });
    const isApart = !inStart && usageAt !== 'with the finish';
    const ending = isApart ? (usageAt === 'before the finish' ? [apart, finish] : [finish, apart]) : [finish];
    const message = {
      type: 'message',
      role: 'assistant',
      content: [],
      ...(inStart && { usage: { ...(usage as Json), output_tokens: 1 } }),
    };
    return [
      data({ type: 'message_start', message }),
      ...pieces.flatMap((piece, index) => [
        ...messagesBlock(piece, index),
        ...(index === 0 && early.meaning !== 'none' ? [change(early.said, {})] : []),
      ]),
      ...withError('anthropic-messages', reply, ending),
    ];
  },
  marker: data({ type: 'message_stop' }),
  plain: (reply) => ({
    type: 'message',
    role: 'assistant',
    content: reply.pieces.map((piece) => {
      if (piece.type === 'text') return { type: 'text', text: piece.text };
      if (piece.type === 'thinking') return { type: 'thinking', thinking: piece.text, signature: '' };
      return { type: 'tool_use', id: piece.id, name: piece.name, input: JSON.parse(piece.text) as Json };
    }),
    stop_reason: reply.word.said,
    usage: messagesUsage(reply),
  }),
};

function messagesBlock(piece: Piece, index: number): Sent[] {
  const [block, delta] = {
    text: [
      { type: 'text', text: '' },
      { type: 'text_delta', text: piece.text },
    ],
    thinking: [
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: piece.text },
    ],
    call: [
      { ...piece, type: 'tool_use', text: undefined, input: {} },
      { type: 'input_json_delta', partial_json: piece.text },
    ],
  }[piece.type];
  return [
    data({ type: 'content_block_start', index, content_block: block }),
    data({ type: 'content_block_delta', index, delta }),
    data({ type: 'content_block_stop', index }),
  ];
}

function messagesUsage({ usage, counts, nonsense }: VendorReply): unknown {
  const { prompt, cached, output, thinking } = counts;
  switch (usage) {
    case 'details':
      return {
        input_tokens: prompt - cached,
        cache_read_input_tokens: cached,
        cache_creation_input_tokens: 0,
        output_tokens: output,
        output_tokens_details: { thinking_tokens: thinking },
      };
    case 'digits':
      return { input_tokens: `${prompt}`, output_tokens: `${output}` };
    case 'above the cap':
      return { input_tokens: prompt, output_tokens: CAPS.outputTokensMax + output };
    case 'beyond all numbers':
      return { input_tokens: 1e300, output_tokens: 1e300 };
    case 'without the prompt':
      return { input_tokens: 0, output_tokens: output };
    case 'without the output':
      return { input_tokens: prompt, output_tokens: 0 };
    case 'zeros':
      return { input_tokens: 0, output_tokens: 0 };
    case 'nulls':
      return { input_tokens: null, output_tokens: null };
    case 'null':
      return null;
    case 'absent':
      return undefined;
    case 'nonsense':
      return { input_tokens: nonsense, output_tokens: [nonsense], cache_read_input_tokens: { nonsense } };
    default:
      return { input_tokens: prompt, output_tokens: output };
  }
}

const responses: ReplyWriter = {
  stream: (reply) => {
    const { pieces, word } = reply;
    const text = { id: 'msg_1', type: 'message', role: 'assistant', content: [] };
    const thought = { id: 'rs_1', type: 'reasoning', summary: [] };
    const added = (item: Json, index: number): Sent => data({ type: 'response.output_item.added', output_index: index, item });
    const { name, response } = responsesEnd(reply);
    const terminal = word.meaning === 'none' ? [] : [data({ type: name, response })];
    return [
      data({ type: 'response.created', response: { object: 'response', status: 'in_progress', output: [] } }),
      added(thought, 0),
      added(text, 1),
      ...pieces.flatMap((piece, n) => {
        if (piece.type === 'text') {
          return [data({ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 1, content_index: 0, delta: piece.text })];
        }
        if (piece.type === 'thinking') {
          const place = { item_id: 'rs_1', output_index: 0, summary_index: 0 };
          return [data({ type: 'response.reasoning_summary_text.delta', ...place, delta: piece.text })];
        }
        const item = responsesCall(piece);
        return [
          added({ ...item, arguments: '' }, n + 2),
          data({ type: 'response.function_call_arguments.delta', item_id: item.id, output_index: n + 2, delta: piece.text }),
          data({ type: 'response.output_item.done', output_index: n + 2, item }),
        ];
      }),
      ...withError('openai-responses', reply, terminal),
    ];
  },
  marker: undefined,
  plain: (reply) => ({
    ...responsesEnd(reply).response,
    output: [
      { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: joined(reply.pieces, 'thinking') }] },
      { id: 'msg_1', type: 'message', content: [{ type: 'output_text', text: joined(reply.pieces, 'text') }] },
      ...reply.pieces.flatMap((piece) => (piece.type === 'call' ? [responsesCall(piece)] : [])),
    ],
  }),
};

function responsesCall({ id, name, text }: CallPiece): Json {
  return { id: `fc_${id}`, type: 'function_call', call_id: id, name, arguments: text };
}

/** Returns the terminal event. A failure is a failed or cancelled response, or an incomplete one that names it. */
function responsesEnd(reply: VendorReply): { name: string; response: Json } {
  const { meaning, said } = reply.word;
  const isCut = meaning === 'length' || meaning === 'content-filter' || meaning === 'unknown' || meaning === 'failure';
  const failed = meaning === 'failure' && (said === 'error' ? 'failed' : said === 'cancelled' ? 'cancelled' : undefined);
  const status = failed || (isCut ? 'incomplete' : 'completed');
  const response = {
    object: 'response',
    ...(meaning !== 'none' && { status }),
    ...(status === 'failed' && { error: ERROR }),
    ...(status === 'incomplete' && { incomplete_details: { reason: said } }),
    output: [],
    usage: openaiUsage(reply, RESPONSES_NAMES),
  };
  return { name: `response.${status}`, response };
}

const gemini: ReplyWriter = {
  stream: (reply) => {
    const { pieces, early, word, usageAt } = reply;
    const usage = { usageMetadata: geminiUsage(reply) };
    const chunk = (parts: Json[], said: string | null, more: Json = {}): Sent =>
      data({ candidates: [{ index: 0, content: { role: 'model', parts }, ...(said !== null && { finishReason: said }) }], ...more });
    const apart = data({ candidates: [], ...usage });
    const isOnFinish = usageAt === 'with the finish' || usageAt === 'everywhere';
    const finish = chunk([{ text: '' }], word.said, isOnFinish ? usage : {});
    const ending = isOnFinish ? [finish] : usageAt === 'before the finish' ? [apart, finish] : [finish, apart];
    return [
      ...pieces.map((piece, n) => chunk([geminiPart(piece)], n === 0 ? early.said : null, renameCounts(countsSoFar(reply, n + 1)))),
      ...withError('gemini', reply, ending),
    ];
  },
  marker: undefined,
  plain: (reply) => ({
    candidates: [{ index: 0, content: { role: 'model', parts: reply.pieces.map(geminiPart) }, finishReason: reply.word.said }],
    usageMetadata: geminiUsage(reply),
  }),
};

function geminiPart(piece: Piece): Json {
  if (piece.type === 'text') return { text: piece.text };
  if (piece.type === 'thinking') return { text: piece.text, thought: true };
  return { functionCall: { id: piece.id, name: piece.name, args: JSON.parse(piece.text) as Json } };
}

/** The vendor counts thinking beside the output. */
function geminiUsage(reply: VendorReply): unknown {
  const { usage, counts } = reply;
  const isBeside = usage === 'details';
  const { usageMetadata } = renameCounts({ usage: openaiUsage(reply, CHAT_NAMES) });
  return isBeside ? { ...(usageMetadata as Json), candidatesTokenCount: counts.output - counts.thinking } : usageMetadata;
}

function renameCounts({ usage }: Json): Json {
  if (typeof usage !== 'object' || usage === null) return { usageMetadata: usage };
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details, completion_tokens_details } = usage as Record<
    string,
    Json
  >;
  return {
    usageMetadata: {
      promptTokenCount: prompt_tokens,
      candidatesTokenCount: completion_tokens,
      totalTokenCount: total_tokens,
      cachedContentTokenCount: prompt_tokens_details?.cached_tokens,
      thoughtsTokenCount: completion_tokens_details?.reasoning_tokens,
    },
  };
}

const converse: ReplyWriter = {
  stream: (reply) => {
    const { pieces, early, word, usageAt } = reply;
    const stop = (said: string | null): Sent => data({ messageStop: { stopReason: said } });
    const metadata = data({ metadata: { usage: converseUsage(reply) } });
    const isLast = usageAt !== 'before the finish';
    return [
      data({ messageStart: { role: 'assistant' } }),
      ...(isLast ? [] : [metadata]),
      ...pieces.flatMap((piece, index) => [
        ...converseBlock(piece, index),
        ...(index === 0 && early.meaning !== 'none' ? [stop(early.said)] : []),
      ]),
      ...withError('bedrock-converse', reply, [stop(word.said)]),
      ...(isLast ? [metadata] : []),
    ];
  },
  marker: undefined,
  plain: (reply) => ({
    output: {
      message: {
        role: 'assistant',
        content: reply.pieces.map((piece) => {
          if (piece.type === 'text') return { text: piece.text };
          if (piece.type === 'thinking') return { reasoningContent: { reasoningText: { text: piece.text } } };
          return { toolUse: { toolUseId: piece.id, name: piece.name, input: JSON.parse(piece.text) as Json } };
        }),
      },
    },
    stopReason: reply.word.said,
    usage: converseUsage(reply),
  }),
};

function converseBlock(piece: Piece, contentBlockIndex: number): Sent[] {
  const delta = (fields: Json): Sent => data({ contentBlockDelta: { contentBlockIndex, delta: fields } });
  const stop = data({ contentBlockStop: { contentBlockIndex } });
  if (piece.type === 'text') return [delta({ text: piece.text }), stop];
  if (piece.type === 'thinking') return [delta({ reasoningContent: { text: piece.text } }), stop];
  const start = { toolUse: { toolUseId: piece.id, name: piece.name } };
  return [data({ contentBlockStart: { contentBlockIndex, start } }), delta({ toolUse: { input: piece.text } }), stop];
}

/** The vendor counts thinking among the output, and does not say how much it is. */
function converseUsage(reply: VendorReply): unknown {
  const { usage, counts } = reply;
  const shown = openaiUsage(reply, CHAT_NAMES);
  if (typeof shown !== 'object' || shown === null) return shown;
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: totalTokens } = shown as Json;
  const cached = { inputTokens: counts.prompt - counts.cached, cacheReadInputTokens: counts.cached, cacheWriteInputTokens: 0 };
  if (usage === 'details') return { ...cached, outputTokens, totalTokens };
  if (usage === 'cached tokens beside the prompt') return { ...cached, outputTokens, totalTokens: cached.inputTokens + counts.output };
  return { inputTokens, outputTokens, totalTokens };
}

const WRITERS: Record<Upstream['kind'], ReplyWriter> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
  gemini,
  'bedrock-converse': converse,
};

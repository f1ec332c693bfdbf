import { createHash } from 'node:crypto';
import type { ChatMessage, ChatRequest } from '../chat-request.js';
import type { Directives } from '../directives.js';
import { isObject } from '../field-checks.js';
import { SimError } from '../sim-error.js';
import type { SimModel } from './models.js';
import { type PlannedCall, requestedCalls } from './requested-calls.js';
import { schemaValue } from './schema-value.js';
import { hashSeed, seededText, seededUnicode } from './seeded-text.js';
import { completionTokens, countTokens, messageImages, messageText, promptTokens } from './usage-rule.js';
import { SCENES, THOUGHTS } from './vocabulary.js';

export interface ReplyUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details?: { cached_tokens: number };
  /** Tokens written to a cache, in the form of Anthropic's usage. */
  cache_creation?: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number };
  completion_tokens_details?: { reasoning_tokens: number };
}

/** A complete reply before any of it is sent. */
export interface ReplyPlan {
  id: string;
  model: string;
  reasoning: string;
  text: string;
  /** `text` is a refusal; chat and Responses mark it as one. */
  isRefusal: boolean;
  calls: PlannedCall[];
  finish: string;
  usage: ReplyUsage;
  /** Tier that the reply says it was served in. Absent: it says none. */
  tier?: string;
}

const DEFAULT_TOKENS = 32;
const SEPARATORS = ['\u2028', '\u2029', '\u0085'];
const RESULT_QUOTE_MAX = 400;

/**
 * Decides the reply to a request. Pure: the same request gets the same reply.
 *
 * @throws SimError for an image that the model cannot read, and for a prompt above its context
 */
export function planReply(request: ChatRequest, model: SimModel, directives: Directives): ReplyPlan {
  refuseImages(request, model);
  const prompt = promptTokens(request);
  const limit = request.max_completion_tokens ?? request.max_tokens;
  const outputTokensMax = Math.min(limit ?? model.outputTokensMax, model.outputTokensMax);
  if (prompt + (limit == null ? 1 : outputTokensMax) > model.contextTokens) {
    throw SimError.contextLength(model.contextTokens, prompt, limit == null ? 1 : outputTokensMax);
  }
  const lastUserText = readLastUserText(request);
  const seed = hashSeed(`${request.model}\n${lastUserText}`);
  const reply = trim(untrimmedReply(request, model, directives, lastUserText, seed), outputTokensMax, stopSequences(request));
  return {
    id: `chatcmpl-sim-${seed.toString(16).padStart(8, '0')}`,
    model: request.model,
    ...reply,
    isRefusal: directives.refusal !== undefined,
    finish: directives.finish ?? reply.finish,
    usage: planUsage(reply, prompt, directives),
    ...(directives.tier !== undefined && { tier: directives.tier }),
  };
}

/** The text of the last user message, which carries directives and `call <tool>`. */
export function readLastUserText(request: ChatRequest): string {
  const message = request.messages.findLast(({ role }) => role === 'user');
  return message ? messageText(message) : '';
}

interface Reply {
  reasoning: string;
  text: string;
  calls: PlannedCall[];
}

function untrimmedReply(request: ChatRequest, model: SimModel, directives: Directives, lastUserText: string, seed: number): Reply {
  const calls = requestedCalls(request, lastUserText);
  const write = directives.unicode ? seededUnicode : seededText;
  const words = (count: number): string => write(seed, count, SCENES);
  const text = directives.refusal ?? directives.say ?? defaultText(request, calls.length > 0, directives.tokens, words);
  const thoughts = (): string =>
    write(seed ^ 0x5bd1e995, directives.reasoning ?? (isReasoningOff(request) ? 0 : model.reasoningTokens), THOUGHTS);
  const reply = { reasoning: directives.think ?? thoughts(), text: directives.separators ? withSeparators(text) : text, calls };
  return directives.tags === undefined ? reply : withTags(reply, directives.tags.includes('both'));
}

/** True when one of the fields that servers know for it switches the reasoning off. */
function isReasoningOff({ reasoning_effort, chat_template_kwargs, thinking }: ChatRequest): boolean {
  const isOff = (value: unknown, name: string, off: unknown): boolean => isObject(value) && value[name] === off;
  return reasoning_effort === 'none' || isOff(chat_template_kwargs, 'enable_thinking', false) || isOff(thinking, 'type', 'disabled');
}

/** Replaces the first blanks by line separators, which JSON need not escape. */
function withSeparators(text: string): string {
  return SEPARATORS.reduce((said, separator) => said.replace(' ', separator), text);
}

/** Moves the reasoning to the start of the text, between tags or before the closing one alone. */
function withTags({ reasoning, text, calls }: Reply, hasBoth: boolean): Reply {
  return { reasoning: '', text: `${hasBoth ? '<think>' : ''}${reasoning}</think>${text}`, calls };
}

function defaultText(request: ChatRequest, hasCalls: boolean, tokens: number | undefined, words: (count: number) => string): string {
  const last = request.messages.at(-1);
  const format = request.response_format;
  if (hasCalls) return words(tokens ?? 0);
  if (format?.type === 'json_object') return JSON.stringify({ answer: words(tokens ?? DEFAULT_TOKENS).trimEnd() });
  if (format?.type === 'json_schema') return JSON.stringify(schemaValue(format.json_schema?.schema ?? {}));
  if (last?.role === 'tool') return `${resultMention(request)} ${words(tokens ?? 0)}`.trimEnd();
  const images = last ? messageImages(last) : [];
  if (images.length > 0 && tokens === undefined) return imageMention(images);
  return words(tokens ?? DEFAULT_TOKENS);
}

/** Quotes the last tool results, so that a test can see that they arrived. */
function resultMention(request: ChatRequest): string {
  const results: string[] = [];
  for (let index = request.messages.length - 1; index >= 0; index--) {
    const message = request.messages[index] as ChatMessage;
    if (message.role !== 'tool') break;
    results.unshift(messageText(message).slice(0, RESULT_QUOTE_MAX));
  }
  return `The result is: ${results.join(' | ')}.`;
}

/** Names type, size and digest of each image, so that a test can see that every byte arrived. */
function imageMention(images: string[]): string {
  const seen = images.map((url) => {
    const [, type = 'unknown', base64 = ''] = /^data:([^;,]*);base64,(.*)$/s.exec(url) ?? [];
    const bytes = Buffer.from(base64, 'base64');
    return `${type} of ${bytes.length} bytes (sha256 ${createHash('sha256').update(bytes).digest('hex').slice(0, 8)})`;
  });
  return `I see ${images.length} image${images.length === 1 ? '' : 's'}: ${seen.join(', ')}.`;
}

/** Applies the limits in the order in which a model generates: reasoning, text up to a stop sequence, calls. */
function trim(reply: Reply, outputTokensMax: number, stops: string[]): Reply & { finish: string } {
  const reasoning = firstTokens(reply.reasoning, outputTokensMax);
  let left = outputTokensMax - countTokens(reasoning);
  const within = firstTokens(reply.text, left);
  const text = upToStop(within, stops);
  if (text !== within) return { reasoning, text, calls: [], finish: 'stop' };
  left -= countTokens(text);
  let cut = reasoning !== reply.reasoning || text !== reply.text;
  const calls: PlannedCall[] = [];
  for (const call of reply.calls) {
    if (cut || left === 0) {
      cut = true;
      break;
    }
    const written = firstTokens(call.name + call.arguments, left);
    left -= countTokens(written);
    cut = written !== call.name + call.arguments;
    if (written.length >= call.name.length) calls.push({ ...call, arguments: written.slice(call.name.length) });
  }
  return { reasoning, text, calls, finish: cut ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop' };
}

/** Returns the longest prefix of whole characters of at most `tokens`. */
function firstTokens(text: string, tokens: number): string {
  if (countTokens(text) <= tokens) return text;
  const bytes = Buffer.from(text);
  let end = tokens * 4;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

function upToStop(text: string, stops: string[]): string {
  const positions = stops.map((stop) => text.indexOf(stop)).filter((position) => position !== -1);
  return positions.length === 0 ? text : text.slice(0, Math.min(...positions));
}

function stopSequences({ stop }: ChatRequest): string[] {
  return stop == null ? [] : Array.isArray(stop) ? stop : [stop];
}

function planUsage(reply: Reply, prompt: number, directives: Directives): ReplyUsage {
  const promptReported = directives.prompt ?? prompt;
  const completion = directives.completion ?? completionTokens(reply);
  return {
    prompt_tokens: promptReported,
    completion_tokens: completion,
    total_tokens: promptReported + completion,
    ...(directives.cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: Math.min(directives.cached, promptReported) } }),
    ...cacheWrites(directives),
    ...(reply.reasoning === '' ? {} : { completion_tokens_details: { reasoning_tokens: countTokens(reply.reasoning) } }),
  };
}

function cacheWrites({ written = 0, 'written-1h': written1h = 0 }: Directives): Pick<ReplyUsage, 'cache_creation'> {
  if (written + written1h === 0) return {};
  return { cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: written1h } };
}

function refuseImages(request: ChatRequest, model: SimModel): void {
  if (model.images) return;
  const index = request.messages.findIndex((message) => messageImages(message).length > 0);
  if (index !== -1) throw SimError.invalid(`Model ${request.model} does not support image input.`, `messages[${index}].content`);
}

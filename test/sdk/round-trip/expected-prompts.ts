import { readFileSync } from 'node:fs';
import type { UPSTREAM_KINDS } from '#contracts/catalog.js';
import type { RoutedModel } from './upstreams.js';

/** The conversation in one dialect: the constant part of every request, and the history of each. */
interface Transcript {
  request: Record<string, unknown>;
  historyField: 'messages' | 'input' | 'contents';
  asked: number[];
  history: Record<string, unknown>[];
}

/** Reasoning of the model, by index of its message in the chat history. */
const THOUGHTS: Record<number, string> = { 2: 'Rome, then.', 4: 'Rome, then.', 8: 'Both\nthings.', 11: 'Both\nthings.' };

/** Expected request bodies of each upstream, in order. `echoed`: the client sends reasoning back. */
export function expectedPrompts({ stream, echoed }: { stream: boolean; echoed: boolean }): Record<RoutedModel, unknown[]> {
  const chat = readTranscript('openai-chat');
  const thoughtful = chat.history.map((message, index) =>
    message.role === 'assistant' ? { ...message, reasoning_content: (echoed && THOUGHTS[index]) || '(no reasoning)' } : message,
  );
  return {
    'round-trip-chat': readPrompts(chat, stream),
    'round-trip-responses': readPrompts(withCacheKey(readTranscript('openai-responses')), stream),
    'round-trip-messages': readPrompts(readTranscript('anthropic-messages'), stream),
    'round-trip-gemini': readPrompts(readTranscript('gemini'), stream),
    'round-trip-converse': readPrompts(readTranscript('bedrock-converse'), stream),
    'round-trip-echo': readPrompts({ ...chat, history: thoughtful }, stream),
  };
}

/** The account's cache has a key of its own. */
function withCacheKey({ request, ...transcript }: Transcript): Transcript {
  return { ...transcript, request: { ...request, prompt_cache_key: expect.stringMatching(/^[\w-]{43}$/) } };
}

function readPrompts({ request, historyField, asked, history }: Transcript, stream: boolean): unknown[] {
  const isChat = historyField === 'messages' && !('system' in request);
  const isInPath = !('model' in request);
  const streamFields = isInPath ? {} : { stream, ...(stream && isChat ? { stream_options: { include_usage: true } } : {}) };
  return asked.map((length) => ({ ...request, ...streamFields, [historyField]: history.slice(0, length) }));
}

function readTranscript(kind: (typeof UPSTREAM_KINDS)[number]): Transcript {
  return JSON.parse(readFileSync(`test/sdk/round-trip/__fixtures__/${kind}.json`, 'utf8')) as Transcript;
}

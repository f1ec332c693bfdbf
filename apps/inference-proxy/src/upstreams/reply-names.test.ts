import type { Upstream } from '#contracts/catalog.js';
import { makeCall } from '../../test/conformance.js';
import { ADAPTERS } from './adapters.js';

/** Replies with the id `reply-1` and the model `model-1`, whole and as the payloads of a stream that breaks off. */
const REPLIES: Record<Exclude<Upstream['kind'], 'bedrock-converse'>, { plain: object; stream: object[] }> = {
  'openai-chat': {
    plain: named({ choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] }),
    stream: [named({ choices: [{ index: 0, delta: { content: 'Hi' } }] }), { choices: [{ index: 0, delta: { content: '!' } }] }],
  },
  'openai-responses': {
    plain: named({
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }],
    }),
    stream: [
      { type: 'response.created', response: named({ status: 'in_progress' }) },
      { type: 'response.output_text.delta', delta: 'Hi' },
    ],
  },
  'anthropic-messages': {
    plain: named({ type: 'message', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' }),
    stream: [
      { type: 'message_start', message: named({ type: 'message', content: [] }) },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
    ],
  },
  gemini: {
    plain: { responseId: 'reply-1', modelVersion: 'model-1', candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] },
    stream: [{ responseId: 'reply-1', modelVersion: 'model-1', candidates: [{ content: { parts: [{ text: 'Hi' }] } }] }],
  },
};

function named(reply: object): object {
  return { id: 'reply-1', model: 'model-1', ...reply };
}

/** Converse names neither. */
const NAMING = Object.values(ADAPTERS).filter(({ kind }) => kind in REPLIES) as { kind: keyof typeof REPLIES }[];

describe.each(NAMING)('$kind: the caller sees the first object that names the reply and its model', ({ kind }) => {
  const adapter = ADAPTERS[kind];
  const { plain, stream } = REPLIES[kind];

  test.each([
    ['plain', false],
    ['streamed', true],
  ])('of a %s reply', (_, isStream) => {
    const seen: unknown[] = [];
    const call = { ...makeCall(isStream), onReply: ({ id, model }: Record<string, unknown>) => void seen.push({ id, model }) };
    if (!isStream) adapter.parseReply(JSON.stringify(plain), call, []);
    const parser = adapter.openStream(call);
    if (isStream) for (const event of stream) parser.push(JSON.stringify(event), []);
    expect(seen[0]).toEqual({ id: 'reply-1', model: 'model-1' });
  });
});

import { PIXEL } from '#testing/pixel.js';
import { type Scenario, saying } from './scenario.js';

const LONG = Array.from({ length: 150 }, (_, index) => `Sentence ${index} says é, 漢 and 🌍.`).join(' ');

/** Scenarios with text. */
export const ANSWERS: Scenario[] = [
  { name: 'text', ask: saying('[[sim say="One two three."]]'), reply: { text: 'One two three.' } },
  {
    name: 'text after a system prompt, from the cache, in packets that cut its characters',
    ask: { system: 'Be brief.', ...saying('Hello [[sim say="Grüße, 世界 🌍!" cached=3 split crlf]]') },
    reply: { text: 'Grüße, 世界 🌍!' },
    cachedTokens: 3,
  },
  { name: 'long text', ask: saying(`[[sim say=${JSON.stringify(LONG)}]]`), reply: { text: LONG } },
  {
    name: 'reasoning',
    ask: { model: 'sim-reason', showReasoning: true, ...saying('[[sim think="Hm, é? Yes." say="Sure."]]') },
    reply: { reasoning: 'Hm, é? Yes.', text: 'Sure.' },
  },
  {
    name: 'reasoning that the client did not request',
    ask: { model: 'sim-reason', ...saying('[[sim think="Hm." say="Sure."]]') },
    reply: { reasoning: 'Hm.', text: 'Sure.' },
    exceptions: [
      {
        client: 'messages',
        reply: { reasoning: '' },
        reason: 'Messages returns reasoning only with `thinking` on; it is billed either way',
      },
    ],
  },
  {
    name: 'a conversation of several turns',
    ask: {
      system: 'Be brief.',
      turns: [
        { role: 'user', text: 'First' },
        { role: 'assistant', text: 'One.' },
        { role: 'user', text: 'Second [[sim say="Two."]]' },
      ],
    },
    reply: { text: 'Two.' },
  },
  {
    name: 'an image',
    ask: { model: 'sim-vision', turns: [{ role: 'user', text: 'What is it?', pngBase64: PIXEL }] },
    reply: { text: 'I see 1 image: image/png of 70 bytes (sha256 6b7fa434).' },
  },
  {
    name: 'JSON by a schema',
    ask: {
      ...saying('Where?'),
      schema: {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'integer', enum: [2] } },
        required: ['city', 'days'],
        additionalProperties: false,
      },
    },
    reply: { text: '{"city":"sim","days":2}' },
  },
  {
    name: 'a refusal in words',
    ask: saying('[[sim refusal="I cannot help with that."]]'),
    reply: { text: 'I cannot help with that.', ending: 'refused' },
    exceptions: [
      { client: 'messages', reply: { ending: 'filtered' }, reason: 'Messages has a stop reason for refusals, and no content part' },
      {
        dialect: ['anthropic-messages', 'gemini', 'bedrock-converse'],
        reply: { ending: 'end' },
        reason: 'the dialect returns refusals as text',
      },
    ],
  },
  {
    name: 'a refusal by a filter',
    ask: saying('[[sim say="It begins" finish=content_filter]]'),
    reply: { text: 'It begins', ending: 'filtered' },
    exceptions: [{ client: 'chat', reply: { ending: 'end' }, reason: 'chat reports a filtered reply as `stop`' }],
  },
];

import type { RequestExample } from '../json-schema/json-schema.js';
import { renderEmbeddings } from './response.js';

/** Example requests. A test sends each of them to a running gateway. */
export const REQUEST_EXAMPLES: Record<string, RequestExample> = {
  text: { summary: 'A text', value: { model: 'sim-embed', input: 'A red bicycle.' } },
  texts: {
    summary: 'Several texts, with short vectors in base64',
    value: { model: 'sim-embed', input: ['A red bicycle.', 'A blue boat.'], dimensions: 4, encoding_format: 'base64' },
  },
  tokens: { summary: 'A text that the client has made tokens of', value: { model: 'sim-embed', input: [32, 2579, 36086] } },
};

const REPLY = {
  model: 'sim-embed',
  vectors: [[0.5, -0.25, 0.75, -0.375]],
  usage: {
    promptTokens: 4,
    cachedTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    promptSource: 'reported',
    outputSource: 'reported',
  },
} as const;

/** Replies as they are rendered, so that the examples always match real ones. */
export const REPLY_EXAMPLES = {
  numbers: { summary: 'A vector of four numbers', value: parse('float') },
  base64: { summary: 'The same vector in base64', value: parse('base64') },
};

function parse(encoding: 'float' | 'base64'): unknown {
  return JSON.parse([...renderEmbeddings({ ...REPLY, encoding })].join(''));
}

import { cost, count, described, either, type JsonSchema, list, ref, replyObject, text, word } from '../json-schema/json-schema.js';

/** Schemas of the reply that `response.ts` renders. */
export const REPLY_SCHEMAS: Record<string, JsonSchema> = {
  EmbeddingList: replyObject({
    object: word('list'),
    data: described(list(ref('Embedding')), 'One for each input, in their order.'),
    model: text,
    usage: replyObject({ prompt_tokens: count, total_tokens: count }, { cost }),
  }),
  Embedding: replyObject({
    object: word('embedding'),
    index: described(count, 'Position of the input.'),
    embedding: either(list({ type: 'number' }), described(text, '32-bit floats in base64, little endian.')),
  }),
};

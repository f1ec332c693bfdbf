import { CHILD_SECONDS_DEFAULT, CHILD_SECONDS_MAX } from '#contracts/child-keys/narrow-child.js';
import { renderMinted } from '../http/endpoints/render-child-key.js';
import { described, type JsonSchema, list, type RequestExample, ref, text } from '../protocols/json-schema/json-schema.js';
import { REPLY_HEADERS } from './headers.js';

const PATH = '1798761600-9f86d081884c7d65';

export const CHILD_ID = {
  name: 'id',
  in: 'path',
  required: true,
  description: '`id` of the child key.',
  schema: { type: 'string' },
  example: PATH,
};

/** Bodies of requests for child keys. */
export const CHILD_KEY_SCHEMAS: Record<string, JsonSchema> = {
  ChildKeyRequest: {
    type: 'object',
    properties: {
      budget_usd: described(
        text,
        'The most that it and all below it may cost, in dollars such as 0.50. Default: what the key that makes it may.',
      ),
      expires_in: {
        ...{ type: 'integer', minimum: 1, maximum: CHILD_SECONDS_MAX, default: CHILD_SECONDS_DEFAULT },
        description: 'Seconds that it lives. It never outlives the key that makes it.',
      },
      models: described(list(text), 'Patterns of some of the models, such as `sim-*`. Default: all.'),
      networks: described(list(text), 'Some of the addresses and networks. Default: all.'),
      tags: described({ type: 'object', additionalProperties: text }, 'Tags that all its requests have, whatever they name.'),
    },
  },
};

export const CHILD_KEY_EXAMPLES: Record<string, RequestExample> = {
  agent: {
    summary: 'A key for an agent: at most $0.20 in half an hour',
    value: { budget_usd: '0.20', expires_in: 1_800, models: ['sim-*'], tags: { agent: 'researcher' } },
  },
};

export const MINTED_EXAMPLE = renderMinted('0190a6f0-7c1e-7000-8000-00000000000c', 'tg_child_eyJrIjoiMDE5MGE2ZjAtN2MxZS03MDAw…', [
  { path: PATH, limitPicoUsd: '200000000000', models: ['sim-*'], tags: { agent: 'researcher' } },
]);

const error = (description: string) => ({
  description,
  headers: REPLY_HEADERS,
  content: { 'application/json': { schema: ref('Error') } },
});

export const MAY_NOT_DELEGATE = error('No budget lets the key have child keys.');
export const NO_SUCH_CHILD = error('The id is none, or the child key that asks is not above it.');

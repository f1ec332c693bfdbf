import type { Balance } from '#contracts/billing/money.js';
import type { renderModelFacts } from '../http/endpoints/render-models.js';
import { count, described, type JsonSchema, list, orNull, ref, replyObject, text, word } from '../protocols/json-schema/json-schema.js';
import { modelPrice, PICO_USD } from './price-schemas.js';

/** Schema of the balance. The compiler checks that it has the fields of billing's answer and no others. */
const { credit_line_pico_usd, ...balance }: Record<keyof Balance, JsonSchema> = {
  object: word('balance'),
  currency: word('USD'),
  balance_pico_usd: { ...PICO_USD, description: 'Total of top-ups, active plan and credit line. All amounts are integers in 10⁻¹² USD.' },
  balance_usd: { type: 'string', pattern: '^-?[0-9]+\\.[0-9]+$', description: 'The same in dollars, for display.' },
  reserved_pico_usd: { ...PICO_USD, description: 'Held for running requests.' },
  available_pico_usd: { ...PICO_USD, description: 'Total minus reserved: available for new requests.' },
  topup_balance_pico_usd: { ...PICO_USD, description: 'Share from top-ups; does not expire. Negative while the credit line is in use.' },
  plan_balance_pico_usd: { ...PICO_USD, description: 'Share from the active plan; `0` without one.' },
  plan_expires_at: { ...orNull(text), description: 'ISO 8601; null without an active plan.' },
  credit_line_pico_usd: { ...PICO_USD, description: 'How far below zero the share from top-ups may go; absent: not at all.' },
};

const FACTS = 'Of the single model, where `MODEL_FACTS` is not `none`; in the list, where it is `all`.';

const facts: Record<keyof ReturnType<typeof renderModelFacts>, JsonSchema> = {
  context_length: described(count, `Tokens of prompt and output together. ${FACTS}`),
  max_output_tokens: described(count, 'The most output that a request can ask for.'),
  default_output_tokens: described(count, 'The output limit of a request that names none.'),
  input_types: list(word('text', 'image')),
  reasoning: { type: 'boolean' },
  embedding_dimensions: described(orNull(count), 'Length of the vectors of a model for embeddings. Null: it writes replies.'),
  price: described(replyObject(modelPrice), 'The price in force for the account of the key.'),
  announced_prices: described(
    list(replyObject({ effective_at: described(text, 'ISO 8601 time from which on it is in force.'), ...modelPrice })),
    'Prices that are to come, soonest first.',
  ),
};

const ANTHROPIC = 'Only with the header `anthropic-version`.';

/** Replies of the endpoints that belong to no format. */
export const ACCOUNT_SCHEMAS: Record<string, JsonSchema> = {
  ModelList: replyObject(
    { object: word('list'), data: list(ref('Model')) },
    {
      has_more: { type: 'boolean', const: false, description: ANTHROPIC },
      first_id: { ...orNull(text), description: ANTHROPIC },
      last_id: { ...orNull(text), description: ANTHROPIC },
    },
  ),
  Model: replyObject(
    {
      object: word('model'),
      id: { ...text, description: '`model` of a generation request.' },
      created: { type: 'integer', description: 'Unix seconds of when the model was added.' },
      owned_by: { ...text, description: 'The organization that serves it.' },
    },
    {
      type: { ...word('model'), description: ANTHROPIC },
      display_name: { ...text, description: `Name for people. ${ANTHROPIC}` },
      created_at: { ...text, description: `RFC 3339. ${ANTHROPIC}` },
      ...facts,
    },
  ),
  Balance: replyObject(balance, { credit_line_pico_usd }),
  Health: replyObject({ status: word('ok') }),
  OpenApi: { ...replyObject({ openapi: { type: 'string', pattern: '^3\\.1\\.' } }), additionalProperties: true },
};

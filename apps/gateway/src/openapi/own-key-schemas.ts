import { BUDGET_PERIODS } from '#contracts/billing/budgets.js';
import type { OwnUsageGroup } from '#contracts/billing/own-key.js';
import type { renderChild, renderMinted, renderRevoked } from '../http/endpoints/render-child-key.js';
import type {
  renderAmounts,
  renderAttribution,
  renderBudget,
  renderCreditNote,
  renderModelLimit,
  renderOwnKey,
  renderRequest,
  renderTokens,
  renderUsage,
  renderUsageRow,
} from '../http/endpoints/render-own-key.js';
import { count, described, flag, type JsonSchema, list, orNull, replyObject, text, word } from '../protocols/json-schema/json-schema.js';
import { PICO_USD, price } from './price-schemas.js';

/** Schemas of the replies about a key. The compiler checks that they have the fields that are rendered and no others. */
type Fields<Render extends (...given: never[]) => object> = Record<keyof ReturnType<Render>, JsonSchema>;

const integer: JsonSchema = { type: 'integer' };

/** A budget has those of its unit. */
const budgetAmounts: Fields<typeof renderAmounts> = {
  limit_pico_usd: described(PICO_USD, 'Of a budget of money, as the next three.'),
  spent_pico_usd: described(PICO_USD, 'Cost of the settled requests of the window.'),
  held_pico_usd: described(PICO_USD, 'The most that the running requests of the window may cost.'),
  remaining_pico_usd: described(PICO_USD, 'Left for new requests.'),
  limit_tokens: described(count, 'Of a budget of tokens, as the next three.'),
  spent_tokens: described(count, 'Tokens of the settled requests of the window.'),
  held_tokens: described(count, 'The most tokens that the running requests of the window may use.'),
  remaining_tokens: described(count, 'Left for new requests.'),
};

const ofChild = { child_id: described(text, 'The child key that it counts for. Only of budgets of child keys.') };

const budget: Omit<Fields<typeof renderBudget>, keyof typeof budgetAmounts | 'child_id'> = {
  scope: described(word('account', 'project', 'key'), 'Whose requests it counts.'),
  period: word(...BUDGET_PERIODS),
  time_zone: described(text, 'Zone in which days, weeks and months begin.'),
  start_day: described(count, 'Day of the week (1: Monday) or of the month on which the window begins.'),
  window_start: orNull(text),
  resets_at: described(orNull(text), 'ISO 8601; null for `total`, which never resets.'),
};

const modelLimit: Fields<typeof renderModelLimit> = {
  model: described(text, 'Pattern of models, which count together.'),
  requests_per_minute: orNull(count),
  tokens_per_minute: orNull(count),
};

const child: Fields<typeof renderChild> = {
  id: described(text, 'The ids of its chain of child keys, with points between them.'),
  parent_id: described(orNull(text), 'The child key that made it. Null: the key itself did.'),
  expires_at: text,
  budget_pico_usd: described(PICO_USD, 'The most that it and all below it may cost.'),
  budget_usd: described(text, 'The same in dollars, exactly.'),
  models: described(list(text), 'Patterns of models. Empty: those of the key.'),
  networks: described(list(text), 'Addresses and networks. Empty: those of the key.'),
  tags: described({ type: 'object', additionalProperties: text }, 'Tags of all its requests, by name.'),
};

const minted: Fields<typeof renderMinted> = {
  object: word('child_key'),
  key: described(text, 'The secret. It is shown once, and stored nowhere.'),
  key_id: described(text, 'The key at the top of its chain.'),
  ...child,
};

const revoked: Fields<typeof renderRevoked> = { object: word('child_key.revoked'), id: text };

const key: Omit<Fields<typeof renderOwnKey>, 'child'> = {
  object: word('key'),
  id: text,
  name: orNull(text),
  last_four: described(text, 'The last four characters of the key.'),
  created_at: text,
  expires_at: described(orNull(text), 'ISO 8601; null: it has no end.'),
  last_used_at: described(orNull(text), 'End of its newest request; null: none has ended.'),
  models: described(list(text), 'Patterns of the models that it may use. Empty: all.'),
  networks: described(list(text), 'Addresses and networks of the clients that may use it. Empty: any.'),
  limits: described(
    replyObject({
      requests_per_minute: count,
      tokens_per_minute: orNull(count),
      concurrency: count,
      models: list(replyObject(modelLimit)),
    }),
    'The tighter of each limit of the key and of its project, and the limits by model of both. Null: no limit.',
  ),
  budgets: list(replyObject(budget, { ...ofChild, ...budgetAmounts })),
};

type UsageField = keyof ReturnType<typeof renderUsageRow>;
type UsageGroup = 'start' | 'parent_agent' | OwnUsageGroup;

/** A late settlement can make them negative. */
const usageSums: Record<Exclude<UsageField, UsageGroup>, JsonSchema> = {
  requests: integer,
  estimated_requests: described(integer, 'Requests with a count that the upstream did not report.'),
  prompt_tokens: integer,
  cached_tokens: described(integer, 'Part of the prompt tokens, read from a cache of the upstream.'),
  cache_write_tokens: described(integer, 'Part of the prompt tokens, written to a cache of the upstream for 5 minutes.'),
  cache_write_1h_tokens: described(integer, 'As `cache_write_tokens`, for an hour.'),
  output_tokens: integer,
  reasoning_tokens: described(integer, 'Part of the output tokens.'),
  cost_pico_usd: PICO_USD,
};
const usageGroups: Record<UsageGroup, JsonSchema> = {
  start: described(text, 'Start of the hour or day. Only with `step`.'),
  model: described(text, 'Only grouped by it, as the following.'),
  upstream: described(orNull(text), 'Null: the requests reached none.'),
  ending: described(text, 'How the requests ended.'),
  user: described(orNull(text), 'End user. Null: the requests named none.'),
  tag: described(orNull(text), 'Value of the tag. Null: the requests have no such tag.'),
  client: described(orNull(text), 'Name in `user-agent`.'),
  session: orNull(text),
  child: described(orNull(text), 'Child key. Null: the key itself.'),
  agent: orNull(text),
  parent_agent: described(orNull(text), 'The agent that started `agent`. Null: none is known.'),
};

const usage: Fields<typeof renderUsage> = {
  object: word('list'),
  from: described(text, 'Start, included.'),
  to: described(text, 'End, excluded.'),
  data: list(replyObject(usageSums, usageGroups)),
  has_more: flag,
  next_cursor: described(orNull(text), '`cursor` of the next page; null on the last one.'),
};

const tokens: Fields<typeof renderTokens> = {
  prompt_tokens: count,
  cached_tokens: described(count, 'Part of the prompt tokens, as the next two.'),
  cache_write_tokens: described(count, 'Written to a cache of the upstream for 5 minutes.'),
  cache_write_1h_tokens: described(count, 'Written to a cache of the upstream for an hour.'),
  output_tokens: count,
  reasoning_tokens: count,
  prompt_source: described(text, '`reported` by the upstream or `estimated`.'),
  output_source: described(text, '`reported` by the upstream, `counted` from the reply, or the `floor` that the reply proves.'),
};

const attribution: Fields<typeof renderAttribution> = {
  user: described(orNull(text), 'End user. Null: the request named none, as the next five.'),
  client: described(orNull(text), 'Name in `user-agent`.'),
  session: orNull(text),
  child: described(orNull(text), 'The child key that made it. Null: the key itself did.'),
  agent: orNull(text),
  parent_agent: described(orNull(text), 'The agent that started `agent`.'),
  tags: described({ type: 'object', additionalProperties: text }, 'Values by name.'),
};

const creditNote: Fields<typeof renderCreditNote> = {
  id: text,
  amount_pico_usd: PICO_USD,
  reason: text,
  created_at: text,
};

const request: Fields<typeof renderRequest> = {
  object: word('request'),
  id: described(text, '`x-request-id` of its reply.'),
  model: text,
  upstream: described(orNull(text), 'Null while it runs, and when it reached none.'),
  ...attribution,
  reserved_at: described(text, 'When its hold was opened.'),
  held_pico_usd: described(PICO_USD, 'The most that it could cost.'),
  price: described(replyObject(price), 'Prices of a token, of the request and of an image when the hold was opened.'),
  settlement: described(
    orNull(
      replyObject({
        settled_at: text,
        ending: described(text, 'How it ended.'),
        usage: replyObject(tokens),
        tier: described(orNull(text), 'Tier that the upstream says it served. Null: its usual one.'),
        step: described(orNull(count), '`above` of the last step of the price that the prompt reached. Null: none.'),
        cost_pico_usd: PICO_USD,
      }),
    ),
    'Null while it runs.',
  ),
  credit_notes: described(list(replyObject(creditNote)), 'Money given back after the settlement. The cost stays as it was charged.'),
};

/** Replies of the endpoints for the owner of a key. */
export const OWN_KEY_SCHEMAS: Record<string, JsonSchema> = {
  Key: replyObject(key, { child: described(replyObject(child), 'Only for a child key: what it narrows.') }),
  ChildKey: replyObject(minted),
  RevokedChildKey: replyObject(revoked),
  Usage: replyObject(usage),
  Request: replyObject(request),
};

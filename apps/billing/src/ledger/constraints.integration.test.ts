import { randomUUID } from 'node:crypto';
import { LedgerFixture } from '../../test/ledger-fixture.js';

/**
 * Tests every constraint: a valid row is accepted, a row with the fault is refused by this constraint, and without the constraint it is
 * accepted. A new constraint needs a row here.
 */
const ledger = await LedgerFixture.open();
const ids = await ledger.customer({ topup: 100n });
await ledger.sql.query(`INSERT INTO billing.money_event (account_id, kind, payload) VALUES ($1, 'account-frozen', '{}')`, [ids.accountId]);
beforeEach(() => ledger.sql.query('BEGIN'));
afterEach(() => ledger.sql.query('ROLLBACK'));
afterAll(() => ledger.close());

/** SQL expressions by column. */
type Row = Record<string, string | number>;

interface Table {
  row: () => Row;
  /** Row that must exist before. */
  before?: () => [table: string, row: Row];
  faults: Record<string, Row | 'twice'>;
}

const ANY_ID = 'gen_random_uuid()';
const ONE_ID = `'${randomUUID()}'`;

/** Columns of a rate limit of the customer's key. */
function ofKey(): Row {
  const key = '(SELECT id FROM billing.api_key LIMIT 1)';
  return { id: key, key_id: key };
}

const TABLES: Record<string, Table> = {
  account: {
    row: () => ({ id: ANY_ID, name: `'a'`, topup: 100, plan: 10, grant_id: ANY_ID, grant_ends_at: 'now()' }),
    faults: {
      account_pkey: 'twice',
      account_status_check: { status: `'other'` },
      account_active_needs_no_reason: { status_reason: `'broken'` },
      account_low_balance_above_zero: { low_balance: 0 },
      account_price_plan_has_a_name: { price_plan: `''` },
      account_next_price_plan_has_a_name: { next_price_plan: `''`, next_price_plan_from: 'now()' },
      account_next_price_plan_has_a_time: { next_price_plan: `'gold'` },
      account_credit_line_not_negative: { credit_line: -1 },
      account_topup_covers_held: { topup_held: 106, credit_line: 5 },
      account_plan_covers_held: { plan_held: 11 },
      account_plan_has_grant: { grant_id: 'NULL' },
      account_expired_not_negative: { expired: -1 },
      account_open_holds_not_negative: { open_holds: -1 },
      account_budget_count_not_negative: { budget_count: -1 },
      account_limit_count_not_negative: { limit_count: -1 },
      account_maxima_above_zero: { active_keys_max: 0 },
      account_event_sequence_not_negative: { event_sequence: -1 },
    },
  },
  project: {
    row: () => ({ id: ANY_ID, account_id: `'${ids.accountId}'`, name: `'p'`, requests_per_minute_max: 1, concurrency_max: 1 }),
    faults: {
      project_pkey: 'twice',
      project_account_id_fkey: { account_id: ANY_ID },
      project_requests_per_minute_max_check: { requests_per_minute_max: 0 },
      project_concurrency_max_check: { concurrency_max: 0 },
      project_open_holds_not_negative: { open_holds: -1 },
      project_tags_in_bounds: { tags: `'{a tag}'` },
    },
  },
  api_key: {
    row: () => ({ id: ANY_ID, project_id: `'${ids.projectId}'`, digest: `sha256('a key')`, last_four: `'abcd'` }),
    faults: {
      api_key_pkey: 'twice',
      api_key_digest_key: 'twice',
      api_key_project_id_fkey: { project_id: ANY_ID },
      api_key_digest_check: { digest: `'short'` },
      api_key_last_four_check: { last_four: `'abcde'` },
      api_key_note_check: { note: `''` },
      api_key_models_in_bounds: { models: `'{gpt-*,""}'` },
      api_key_networks_in_bounds: { networks: `'{10.0.0.0/8,here}'` },
      api_key_replaced_by_fkey: { replaced_by: ANY_ID, expires_at: 'now()' },
      api_key_replaced_by_another: { id: ONE_ID, replaced_by: ONE_ID, expires_at: 'now()' },
      api_key_replaced_key_ends: { replaced_by: '(SELECT id FROM billing.api_key LIMIT 1)' },
      api_key_root_key_id_fkey: { root_key_id: ANY_ID },
      api_key_root_is_another: { id: ONE_ID, root_key_id: ONE_ID },
    },
  },
  plan_subscription: {
    row: () => ({ id: ANY_ID, account_id: `'${ids.accountId}'`, amount: 1, period: `'month'`, time_zone: `'UTC'`, due_at: 'now()' }),
    faults: {
      plan_subscription_pkey: 'twice',
      plan_subscription_account_id_fkey: { account_id: ANY_ID },
      plan_subscription_amount_check: { amount: 0 },
      plan_subscription_period_check: { period: `'year'` },
    },
  },
  budget: {
    row: () => ({
      ...{ id: ANY_ID, account_id: `'${ids.accountId}'`, project_id: `'${ids.projectId}'`, period: `'day'`, time_zone: `'UTC'` },
      ...{ limit_amount: 1, spent: 0, held: 0, window_start: `'2026-11-23Z'`, window_end: `'2026-11-24Z'` },
    }),
    faults: {
      budget_pkey: 'twice',
      budget_once_a_unit: 'twice',
      budget_account_id_fkey: { account_id: ANY_ID },
      budget_project_id_fkey: { project_id: ANY_ID },
      budget_key_id_fkey: { key_id: ANY_ID },
      budget_key_has_project: { project_id: 'NULL', key_id: '(SELECT id FROM billing.api_key LIMIT 1)' },
      budget_period_check: { period: `'year'` },
      budget_limit_amount_check: { limit_amount: -1 },
      budget_spent_not_negative: { spent: -1 },
      budget_held_not_negative: { held: -1 },
      budget_window_in_order: { window_end: `'2026-11-23Z'` },
      budget_dimension_check: { dimension: `'team'`, thresholds: `'{}'` },
      budget_child_check: { dimension: `'child'`, period: `'day'`, thresholds: `'{}'` },
      budget_value_has_dimension: { value: `'alice'` },
      budget_counts_in_one_place: { dimension: `'user'`, thresholds: `'{}'`, spent: 1 },
      budget_of_each_value_has_no_thresholds: { dimension: `'user'`, thresholds: `'{50}'` },
      budget_thresholds_are_percentages: { thresholds: `'{50,101}'` },
      budget_passed_is_percentage: { passed: 101 },
      budget_unit_check: { unit: `'requests'` },
      budget_start_day_check: { period: `'month'`, start_day: 29 },
      budget_set_by_check: { set_by: `'viewer'` },
      budget_within_operator: { operator_limit: 0 },
    },
  },
  budget_value: {
    row: () => ({ budget_id: ONE_ID, account_id: ANY_ID, window_end: `'infinity'`, value: `'alice'`, spent: 0, held: 0 }),
    faults: {
      budget_value_pkey: 'twice',
      budget_value_spent_not_negative: { spent: -1 },
      budget_value_held_not_negative: { held: -1 },
    },
  },
  service_use: {
    row: () => ({ service: `'crawler'` }),
    faults: {
      service_use_pkey: 'twice',
      service_use_held_not_negative: { held: -1 },
      service_use_open_holds_not_negative: { open_holds: -1 },
    },
  },
  rate_limit: {
    row: () => ({
      ...{ id: `'${ids.projectId}'`, account_id: `'${ids.accountId}'`, project_id: `'${ids.projectId}'`, open_holds: 0 },
      ...{ tokens_per_minute_max: 1 },
    }),
    faults: {
      rate_limit_pkey: 'twice',
      rate_limit_account_id_fkey: { account_id: ANY_ID },
      rate_limit_project_id_fkey: { id: ONE_ID, project_id: ONE_ID },
      rate_limit_key_id_fkey: { id: ONE_ID, key_id: ONE_ID },
      rate_limit_is_of_its_target: { id: ANY_ID },
      rate_limit_has_a_limit: { tokens_per_minute_max: 'NULL' },
      rate_limit_model_limits_check: { model_limits: `'[{"model": "gpt-*", "requestsPerMinuteMax": 0}]'` },
      rate_limit_of_project_counts_tokens: { concurrency_max: 1 },
      rate_limit_requests_per_minute_max_check: { ...ofKey(), requests_per_minute_max: 0 },
      rate_limit_concurrency_max_check: { ...ofKey(), concurrency_max: 0 },
      rate_limit_tokens_per_minute_max_check: { tokens_per_minute_max: 0 },
      rate_limit_open_holds_not_negative: { open_holds: -1 },
      rate_limit_of_account_counts_no_holds: { id: '(SELECT id FROM billing.account LIMIT 1)', project_id: 'NULL', open_holds: 1 },
      rate_limit_within_operator: { tokens_per_minute_max: 6, operator_limits: `'{"tokensPerMinuteMax": 5}'` },
    },
  },
  hold: {
    row: () => ({
      ...{ id: ANY_ID, account_id: ANY_ID, project_id: ANY_ID, key_id: ANY_ID, request_id: `'r'`, model: `'m'` },
      ...{ amount: 10, plan_part: 0, price_version: 1, input_price: 1, cached_input_price: 1, output_price: 1 },
      ...{ created_at: 'now()', lease_until: 'now()' },
    }),
    faults: {
      hold_pkey: 'twice',
      hold_tokens_above_zero: { tokens: 0 },
      hold_price_plan_has_a_name: { price_plan: `''` },
      hold_attribution_is_an_object: { attribution: `'{}'` },
      hold_amount_tokens_not_negative: { amount_tokens: -1 },
      hold_amount_check: { amount: '1000000000000000001' },
      hold_plan_part_within_amount: { plan_part: 11, grant_id: ANY_ID },
      hold_plan_part_has_grant: { plan_part: 1 },
      hold_input_price_check: { input_price: -1 },
      hold_cached_input_price_check: { cached_input_price: -1 },
      hold_output_price_check: { output_price: -1 },
      hold_request_price_check: { request_price: -1 },
      hold_image_price_check: { image_price: -1 },
      hold_images_check: { images: 1 },
      hold_cache_write_price_check: { cache_write_price: -1 },
      hold_cache_write_1h_price_check: { cache_write_1h_price: -1 },
      hold_meter_cache_writes_not_negative: { meter_cache_write_1h_tokens: -1 },
      hold_check: { meter_cached_tokens: 1 },
      hold_meter_output_tokens_check: { meter_output_tokens: -1 },
      hold_meter_reasoning_tokens_check: { meter_reasoning_tokens: -1 },
      hold_meter_prompt_source_check: { meter_prompt_source: `'counted'`, meter_output_source: `'counted'` },
      hold_meter_output_source_check: { meter_prompt_source: `'estimated'`, meter_output_source: `'estimated'` },
      hold_meter_sources_come_together: { meter_prompt_source: `'reported'` },
    },
  },
  settlement: {
    row: settlement,
    faults: {
      settlement_pkey: 'twice',
      settlement_reason_check: { reason: `'lost'` },
      settlement_cost_within_held: { cost: 11, topup_cost: 11 },
      settlement_parts_are_the_cost: { topup_cost: 4 },
      settlement_plan_cost_check: { plan_cost: -1, topup_cost: 6, live_grant_id: ANY_ID },
      settlement_plan_cost_has_grant: { plan_cost: 1, topup_cost: 4 },
      settlement_ended_cost_check: { ended_cost: -1, topup_cost: 6, grant_id: ANY_ID },
      settlement_ended_has_grant: { forfeit: 1 },
      settlement_ended_within_held: { forfeit: 11, grant_id: ANY_ID },
      settlement_forfeit_check: { forfeit: -1, grant_id: ANY_ID },
      settlement_topup_cost_check: { topup_cost: -1, plan_cost: 6, live_grant_id: ANY_ID },
      settlement_over_check: { held: 5, over: -1 },
      settlement_over_only_when_full: { over: 1 },
      settlement_cached_within_prompt: { cached_tokens: 1 },
      settlement_cache_writes_within_prompt: { prompt_tokens: 2, cached_tokens: 1, cache_write_tokens: 1, cache_write_1h_tokens: 1 },
      settlement_output_tokens_check: { output_tokens: -1 },
      settlement_reasoning_tokens_check: { reasoning_tokens: -1 },
      settlement_prompt_source_check: { prompt_source: `'counted'`, output_source: `'counted'` },
      settlement_output_source_check: { prompt_source: `'estimated'`, output_source: `'estimated'` },
      settlement_sources_come_together: { output_source: `'floor'` },
      settlement_settled_by_check: { settled_by: `'reaper'` },
      settlement_tombstone_is_empty: { project_id: 'NULL' },
    },
  },
  late_settlement: {
    before: () => ['settlement', { ...settlement(), hold_id: ONE_ID, reason: `'lease-expired'` }],
    row: () => ({
      ...{ hold_id: ONE_ID, account_id: ANY_ID, reason: `'completed'`, held: 10, billed: 2, due: 5, plan_cost: 0, topup_cost: 5 },
      ...{ writeoff: 0, over: 0, prompt_tokens: 0, cached_tokens: 0, output_tokens: 0, reasoning_tokens: 0, settled_at: 'now()' },
    }),
    faults: {
      late_settlement_pkey: 'twice',
      late_settlement_reason_check: { reason: `'lease-expired'` },
      late_settlement_billed_check: { billed: -1 },
      late_settlement_within_held: { due: -3, topup_cost: -3 },
      late_settlement_parts_are_the_due: { topup_cost: 4 },
      late_settlement_goes_one_way: { due: -1, topup_cost: -2, writeoff: 1 },
      late_settlement_forfeit_check: { due: -1, topup_cost: -2, forfeit: -1 },
      late_settlement_plan_cost_has_grant: { plan_cost: 1, topup_cost: 4 },
      late_settlement_writeoff_check: { writeoff: -1, topup_cost: 6 },
      late_settlement_over_check: { due: 8, topup_cost: 8, over: -1 },
      late_settlement_over_only_when_full: { over: 1 },
      late_settlement_cached_within_prompt: { cached_tokens: 1 },
      late_settlement_cache_writes_within_prompt: { prompt_tokens: 2, cached_tokens: 1, cache_write_tokens: 1, cache_write_1h_tokens: 1 },
      late_settlement_output_tokens_check: { output_tokens: -1 },
      late_settlement_reasoning_tokens_check: { reasoning_tokens: -1 },
      late_settlement_prompt_source_check: { prompt_source: `'counted'`, output_source: `'counted'` },
      late_settlement_output_source_check: { prompt_source: `'estimated'`, output_source: `'estimated'` },
      late_settlement_sources_come_together: { output_source: `'floor'` },
      late_settlement_settled_by_check: { settled_by: `'reaper'` },
    },
  },
  movement: {
    row: () => ({ id: ANY_ID, account_id: `'${ids.accountId}'`, kind: `'topup'`, amount: 5, idempotency_key: `'a key'` }),
    faults: {
      movement_pkey: 'twice',
      movement_idempotency_key_key: 'twice',
      movement_account_id_fkey: { account_id: ANY_ID },
      movement_kind_check: { kind: `'gift'` },
      movement_amount_check: { amount: -1 },
      movement_moves_something: { kind: `'debit'`, reason: `'why'`, amount: 0 },
      movement_adjustment_has_reason: { kind: `'credit'` },
      movement_grant_is_named: { grant_id: ANY_ID },
      movement_grant_ends: { grant_ends_at: 'now()' },
      movement_note_of_is_a_notes: { note_of: ANY_ID },
      movement_refund_of_is_a_refunds: { refund_of: `(SELECT id FROM billing.movement WHERE account_id = '$ACCOUNT')` },
    },
  },
  audit: {
    row: () => ({ id: ANY_ID, at: 'now()', actor: `'cli/ann@host'`, action: `'test'`, target: `'account/1'` }),
    faults: { audit_pkey: 'twice' },
  },
  audit_link: {
    row: () => ({ sequence: 1_000_000, audit_id: ANY_ID, digest: `''` }),
    faults: { audit_link_pkey: 'twice' },
  },
  usage_hour: { row: () => ({ ...usage(), hour: `'2026-11-21 06:00Z'` }), faults: { usage_hour_pkey: 'twice' } },
  usage_day: { row: () => ({ ...usage(), day: `'2026-11-21Z'` }), faults: { usage_day_pkey: 'twice' } },
  month: {
    row: () => ({ id: `'2026-11'`, manifest: `''` }),
    faults: { month_pkey: 'twice', month_id_check: { id: `'2026-13'` } },
  },
  month_account: {
    row: () => ({
      ...{ month: `'2026-11'`, account_id: ONE_ID, requests: 1, opening: 10, topups: 5, grants: 0, credits: 0, refunds: 0, debits: 0 },
      ...{ forfeited: 0, cost: 7, closing: 8, topup_closing: 8, refundable: 15 },
    }),
    faults: { month_account_pkey: 'twice', month_account_adds_up: { closing: 9 } },
  },
  month_grant: {
    row: () => ({ month: `'2026-11'`, grant_id: ONE_ID, account_id: ONE_ID, amount: 10, gone: 1, ended: 'false' }),
    faults: { month_grant_pkey: 'twice' },
  },
  month_receipt: {
    row: () => ({
      ...{ month: `'2026-11'`, account_id: ONE_ID, requests: 1, late_settlements: 0, cost: 7, root: `'ab'`, path: `'{}'` },
    }),
    faults: { month_receipt_pkey: 'twice' },
  },
  month_receipt_part: {
    row: () => ({
      ...{ month: `'2026-11'`, account_id: ONE_ID, part: 0, from_at: 'now()', from_id: ANY_ID, from_late: 'false', root: `'ab'` },
    }),
    faults: { month_receipt_part_pkey: 'twice' },
  },
  month_line: { row: () => ({ month: `'2026-11'`, line: `'{}'` }), faults: { month_line_pkey: 'twice' } },
  month_signature: {
    row: () => ({ month: `'2026-11'`, key_id: `'ab'`, signature: `'cd'` }),
    faults: { month_signature_pkey: 'twice' },
  },
  receipt_key: { row: () => ({ id: `'ab'`, public_key: `'cd'` }), faults: { receipt_key_pkey: 'twice' } },
  detached_month: {
    row: () => ({
      ...{ id: `'2026-11'`, ids_from: 'NULL', ids_below: ONE_ID, counted_to: `'2026-12-02'`, settlements: 1, settlements_digest: `''` },
      ...{ late_settlements: 0, late_settlements_digest: `''`, sums_digest: `''`, rests: `'{}'` },
    }),
    faults: {
      detached_month_pkey: 'twice',
      detached_month_ids_below_key: 'twice',
      detached_month_id_check: { id: `'2026-13'` },
      detached_month_has_ids: { ids_from: ONE_ID },
    },
  },
  detached_account: {
    row: () => ({ month: `'2026-11'`, account_id: ONE_ID, change: -7, topup_change: -7 }),
    faults: { detached_account_pkey: 'twice' },
  },
  detached_grant: {
    row: () => ({ month: `'2026-11'`, grant_id: ONE_ID, account_id: ONE_ID, gone: 7 }),
    faults: { detached_grant_pkey: 'twice' },
  },
  checkpoint: {
    row: () => ({ id: 1, month: `''`, transaction_end: 1, system_identifier: 1, made_at: 'now()', settlements: 0, late_settlements: 0 }),
    faults: { checkpoint_pkey: 'twice', checkpoint_id_check: { id: 2 } },
  },
  checkpoint_account: {
    row: () => ({ account_id: ONE_ID, closing: 8, topup_closing: 8, refundable: 15 }),
    faults: { checkpoint_account_pkey: 'twice' },
  },
  checkpoint_grant: {
    row: () => ({ grant_id: ONE_ID, account_id: ONE_ID, amount: 10, gone: 1 }),
    faults: { checkpoint_grant_pkey: 'twice' },
  },
  money_event: {
    row: () => ({ id: ANY_ID, account_id: `'${ids.accountId}'`, sequence: 1_000, kind: `'plan-expired'`, payload: `'{}'` }),
    faults: {
      money_event_pkey: 'twice',
      money_event_once_in_sequence: 'twice',
      money_event_account_id_fkey: { account_id: ANY_ID },
      money_event_sequence_check: { sequence: 0 },
      money_event_kind_check: { kind: `'other'` },
    },
  },
  webhook: {
    row: () => ({ id: ANY_ID, url: `'https://example.com/'` }),
    faults: {
      webhook_pkey: 'twice',
      webhook_account_id_fkey: { account_id: ANY_ID },
      webhook_url_check: { url: `''` },
      webhook_secret_version_check: { secret_version: 0 },
      webhook_format_check: { format: `'xml'` },
      webhook_set_by_check: { set_by: `'customer'` },
    },
  },
  managed: {
    row: () => ({ kind: `'key'`, id: ANY_ID, account_id: ANY_ID, source: `'tenants.yaml'` }),
    faults: { managed_pkey: 'twice' },
  },
  webhook_delivery: {
    before: () => ['webhook', { id: ONE_ID, url: `'https://example.com/'` }],
    row: () => ({ webhook_id: ONE_ID, account_id: ONE_ID, done: 1, last: 2, due_at: 'now()' }),
    faults: {
      webhook_delivery_pkey: 'twice',
      webhook_delivery_webhook_id_fkey: { webhook_id: ANY_ID },
      webhook_delivery_attempts_check: { attempts: -1 },
      webhook_delivery_done_in_order: { done: 3 },
      webhook_delivery_is_due_or_done: { due_at: 'NULL' },
    },
  },
  dead_letter: {
    before: () => ['webhook', { id: ONE_ID, url: `'https://example.com/'` }],
    row: () => ({ webhook_id: ONE_ID, event_id: '(SELECT id FROM billing.money_event LIMIT 1)', attempts: 1, failure: `'status 500'` }),
    faults: {
      dead_letter_pkey: 'twice',
      dead_letter_webhook_id_fkey: { webhook_id: ANY_ID },
      dead_letter_event_id_fkey: { event_id: ANY_ID },
      dead_letter_attempts_check: { attempts: 0 },
    },
  },
  webhook_answer: {
    before: () => ['webhook', { id: ONE_ID, url: `'https://example.com/'` }],
    row: () => ({
      ...{ webhook_id: ONE_ID, event_id: '(SELECT id FROM billing.money_event LIMIT 1)', attempts: 1 },
      ...{ answer: `'status 500'`, accepted: 'false', milliseconds: 5 },
    }),
    faults: {
      webhook_answer_pkey: 'twice',
      webhook_answer_webhook_id_fkey: { webhook_id: ANY_ID },
      webhook_answer_event_id_fkey: { event_id: ANY_ID },
      webhook_answer_attempts_check: { attempts: 0 },
    },
  },
  ledger_report: { row: () => ({ checked_at: `'2026-11-21 06:00Z'`, report: `'{}'` }), faults: { ledger_report_pkey: 'twice' } },
};

/** Constraints of the table that has one row, which exists already. A test of its own violates them. */
const ONE_ROW = ['installation_pkey', 'installation_one_check', 'usage_state_pkey', 'usage_state_id_check', 'usage_state_closed_to_check'];

/** Constraints implied by others, for readers of the schema. */
const IMPLIED = [
  'hold_meter_prompt_tokens_check',
  'settlement_held_check',
  'settlement_prompt_tokens_check',
  'late_settlement_prompt_tokens_check',
  // A trigger checks the top-up first.
  'movement_refund_of_fkey',
];

const FAULTS = Object.entries(TABLES).flatMap(([table, { faults }]) =>
  Object.entries(faults).map(([constraint, fault]) => ({ table, constraint, fault })),
);

test.each(FAULTS)('$table: $constraint', async ({ table, constraint, fault }) => {
  const { row, before } = TABLES[table] as Table;
  if (before) await insert(...before());
  const key = primaryKey(table);
  const same = constraint.endsWith('_pkey') && row()[key] === ANY_ID ? { [key]: ONE_ID } : {};
  const faultless = { ...row(), ...same };
  const faulty = fault === 'twice' ? distinct(constraint, faultless) : { ...faultless, ...fault };

  await ledger.sql.query('SAVEPOINT good');
  await insert(table, faultless);
  if (fault !== 'twice') await ledger.sql.query('ROLLBACK TO good');
  await ledger.sql.query('SAVEPOINT bad');
  await expect(insert(table, faulty)).rejects.toMatchObject({ constraint: nameInPartition(constraint) });
  await ledger.sql.query('ROLLBACK TO bad');
  // A table with a deferred trigger to run cannot be altered.
  await ledger.sql.query('SET CONSTRAINTS ALL IMMEDIATE');
  await ledger.sql.query(`ALTER TABLE billing.${table} DROP CONSTRAINT ${constraint} CASCADE`);
  await insert(table, faulty);
});

test.each([
  ['INSERT INTO billing.usage_state (id) VALUES (1)', 'usage_state_pkey'],
  ['INSERT INTO billing.usage_state (id) VALUES (2)', 'usage_state_id_check'],
  ['INSERT INTO billing.installation DEFAULT VALUES', 'installation_pkey'],
  ['INSERT INTO billing.installation (one) VALUES (false)', 'installation_one_check'],
  ['UPDATE billing.usage_state SET closed_to = -1', 'usage_state_closed_to_check'],
])('%s: %s', async (statement, constraint) => {
  await expect(ledger.sql.query(statement)).rejects.toMatchObject({ constraint });
});

test('every constraint has its row here', async () => {
  const { rows } = await ledger.sql.query<{ conname: string }>(
    `SELECT conname FROM pg_constraint WHERE connamespace = 'billing'::regnamespace AND contype IN ('c', 'p', 'u', 'f', 'x')`,
  );
  expect([...FAULTS.map(({ constraint }) => constraint), ...IMPLIED, ...ONE_ROW].sort()).toEqual(rows.map(({ conname }) => conname).sort());
});

function settlement(): Row {
  return {
    ...{ hold_id: ANY_ID, account_id: ANY_ID, project_id: ANY_ID, reason: `'completed'`, held: 10, cost: 5, plan_cost: 0, ended_cost: 0 },
    ...{
      forfeit: 0,
      topup_cost: 5,
      over: 0,
      prompt_tokens: 0,
      cached_tokens: 0,
      output_tokens: 0,
      reasoning_tokens: 0,
      settled_at: 'now()',
    },
  };
}

function usage(): Row {
  return {
    ...{ account_id: ONE_ID, project_id: ONE_ID, key_id: ONE_ID, model: `'m'`, upstream: `''`, ending: `'completed'` },
    ...{ requests: 1, estimated_requests: 0, prompt_tokens: 1, cached_tokens: 0, output_tokens: 1, reasoning_tokens: 0 },
    ...{ cost: 1, forfeit: 0, last_at: 'now()' },
  };
}

/** Returns the same row, different in all other unique columns. */
function distinct(constraint: string, row: Row): Row {
  if (constraint === 'api_key_pkey') return { ...row, digest: `sha256('another key')` };
  if (constraint === 'budget_pkey') return { ...row, period: `'week'` };
  if (constraint === 'detached_month_pkey') return { ...row, ids_below: `'00000000-0000-4000-8000-00000000000f'` };
  if (constraint === 'detached_month_ids_below_key') return { ...row, id: `'2026-12'` };
  if (constraint === 'money_event_pkey') return { ...row, sequence: 1_001 };
  if (constraint === 'movement_pkey') return { ...row, idempotency_key: `'another key'` };
  return row;
}

async function insert(table: string, row: Row): Promise<void> {
  const values = Object.values(row).join(', ').replaceAll('$ACCOUNT', ids.accountId);
  await ledger.sql.query(`INSERT INTO billing.${table} (${Object.keys(row).join(', ')}) VALUES (${values})`);
}

/** The key of a partition has a name of its own. */
function nameInPartition(constraint: string): unknown {
  const [, journal] = /^((?:late_)?settlement)_pkey$/.exec(constraint) ?? [];
  return journal === undefined ? constraint : expect.stringMatching(new RegExp(`^${journal}(_\\w+)?_pkey$`));
}

function primaryKey(table: string): string {
  if (table === 'month') return '';
  return table === 'settlement' || table === 'late_settlement' ? 'hold_id' : 'id';
}

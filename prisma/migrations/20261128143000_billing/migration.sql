-- Money. Amounts are integers of pico-USD: BIGINT for one request, NUMERIC(38,0) for balances. Every rule of the ledger stands here a second
-- time, as a constraint: a faulty replica gets an error, never a wrong balance.

CREATE SCHEMA billing;
-- Partitions of the journals of settlements. No service has rights on it: services read and write billing.settlement and
-- billing.late_settlement.
CREATE SCHEMA journal;
-- Partitions that were taken out, for the operator to dump and drop. No service has rights on it either.
CREATE SCHEMA detached;

-- ==== accounts, projects, keys ========================================================================================

-- One row a customer, updated by every batch: no secondary index and a low fillfactor keep each update on its page (HOT).
CREATE TABLE billing.account (
  id                   uuid PRIMARY KEY,
  name                 text NOT NULL,
  status               text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'frozen')),
  topup                numeric(38, 0) NOT NULL DEFAULT 0,
  topup_held           numeric(38, 0) NOT NULL DEFAULT 0,
  plan                 numeric(38, 0) NOT NULL DEFAULT 0,
  plan_held            numeric(38, 0) NOT NULL DEFAULT 0,
  -- Money of ended grants that only the holds made under them may still use; in no balance.
  expired              numeric(38, 0) NOT NULL DEFAULT 0,
  grant_id             uuid,
  grant_ends_at        timestamptz,
  open_holds           integer NOT NULL DEFAULT 0,
  created_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Why it is frozen.
  status_reason        text,
  -- Below it, the balance is low and a money event says so. Null: none does.
  low_balance          numeric(38, 0),
  -- Budgets and rate limits of the account: batches read them only of accounts that have some.
  budget_count         integer NOT NULL DEFAULT 0,
  limit_count          integer NOT NULL DEFAULT 0,
  event_sequence       bigint NOT NULL DEFAULT 0,
  -- Time of the last event of a refusal: there is at most one a minute.
  refused_at           timestamptz,
  -- Price plan of the catalog. Null: list prices. Gateways keep it with each key of the account.
  price_plan           text,
  -- The price plan that replaces it at a time; null: list prices. Nothing moves it: the time of a request decides what is in force.
  next_price_plan      text,
  next_price_plan_from timestamptz,
  -- How far below zero the top-up balance may go.
  credit_line          numeric(38, 0) NOT NULL DEFAULT 0,
  projects_max         integer NOT NULL DEFAULT 100,
  active_keys_max      integer NOT NULL DEFAULT 1000,
  CONSTRAINT account_topup_covers_held CHECK (0 <= topup_held AND topup_held <= topup + credit_line),
  CONSTRAINT account_plan_covers_held CHECK (0 <= plan_held AND plan_held <= plan),
  CONSTRAINT account_expired_not_negative CHECK (expired >= 0),
  CONSTRAINT account_open_holds_not_negative CHECK (open_holds >= 0),
  CONSTRAINT account_plan_has_grant CHECK ((grant_id IS NULL) = (grant_ends_at IS NULL) AND (grant_id IS NOT NULL OR plan = 0)),
  CONSTRAINT account_low_balance_above_zero CHECK (low_balance > 0),
  CONSTRAINT account_active_needs_no_reason CHECK (status = 'frozen' OR status_reason IS NULL),
  CONSTRAINT account_budget_count_not_negative CHECK (budget_count >= 0),
  CONSTRAINT account_limit_count_not_negative CHECK (limit_count >= 0),
  CONSTRAINT account_event_sequence_not_negative CHECK (event_sequence >= 0),
  CONSTRAINT account_price_plan_has_a_name CHECK (length(price_plan) BETWEEN 1 AND 64),
  CONSTRAINT account_next_price_plan_has_a_name CHECK (length(next_price_plan) BETWEEN 1 AND 64),
  CONSTRAINT account_next_price_plan_has_a_time CHECK (next_price_plan IS NULL OR next_price_plan_from IS NOT NULL),
  CONSTRAINT account_credit_line_not_negative CHECK (credit_line >= 0),
  CONSTRAINT account_maxima_above_zero CHECK (projects_max > 0 AND active_keys_max > 0)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000);

-- Its limits are decided in the same step as its money.
CREATE TABLE billing.project (
  id                      uuid PRIMARY KEY,
  account_id              uuid NOT NULL REFERENCES billing.account (id),
  name                    text NOT NULL,
  enabled                 boolean NOT NULL DEFAULT true,
  requests_per_minute_max integer NOT NULL CHECK (requests_per_minute_max > 0),
  concurrency_max         integer NOT NULL CHECK (concurrency_max > 0),
  open_holds              integer NOT NULL DEFAULT 0,
  -- Admitted requests of the last 60 s, a counter a second: [[time of the last one in ms, how many], …], oldest first.
  request_window          json NOT NULL DEFAULT '[]',
  created_at              timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Billing keeps accounts, projects and keys in memory between two batches, and a batch that is decided from memory has to find out whether
  -- they have changed since. An account's row shows it by xmin, the transaction that wrote it last. A project's row does not: a batch that
  -- was decided from an older read writes it too, without its settings. Every change of what batches read and do not write raises this
  -- version: the settings of the project, and its keys. Triggers do it, because every service and every operator goes through them.
  version                 bigint NOT NULL DEFAULT 0,
  -- Names of `metadata` pairs that are tags of the project's requests. Gateways keep them with the key.
  tags                    text[] NOT NULL DEFAULT '{}',
  CONSTRAINT project_open_holds_not_negative CHECK (open_holds >= 0),
  CONSTRAINT project_tags_in_bounds
    CHECK (cardinality(tags) <= 16 AND array_to_string(tags || ''::text, '/', '*') ~ '^([A-Za-z0-9][A-Za-z0-9._-]{0,63}/)*$')
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000);

-- Never updated by a batch, so it costs the hot rows nothing.
CREATE INDEX project_account_id ON billing.project (account_id);

CREATE FUNCTION billing.raise_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.version := OLD.version + 1;
  RETURN NEW;
END
$$;

-- The columns that batches write are not named, so that the trigger costs them nothing.
CREATE TRIGGER project_raises_version BEFORE UPDATE OF account_id, enabled, requests_per_minute_max, concurrency_max, version ON billing.project
  FOR EACH ROW EXECUTE FUNCTION billing.raise_version();

CREATE TABLE billing.api_key (
  id          uuid PRIMARY KEY,
  project_id  uuid NOT NULL REFERENCES billing.project (id),
  name        text,
  -- HMAC-SHA-256 under the pepper, of the SHA-256 of the key. The key itself is nowhere.
  digest      bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
  last_four   text NOT NULL CHECK (char_length(last_four) = 4),
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at  timestamptz,
  note        text CHECK (char_length(note) BETWEEN 1 AND 1000),
  disabled    boolean NOT NULL DEFAULT false,
  -- The key is refused from this moment on.
  expires_at  timestamptz,
  -- Key that a rotation made in its place.
  replaced_by uuid REFERENCES billing.api_key (id),
  -- What the key may be used for; empty: all. Patterns of model ids, in which * stands for any characters.
  models      text[] NOT NULL DEFAULT '{}',
  -- Addresses of clients, or networks in CIDR notation.
  networks    text[] NOT NULL DEFAULT '{}',
  -- First key of its rotations, which budgets and limits name: they are those of all keys that rotations made from it. Null: the key itself.
  root_key_id uuid REFERENCES billing.api_key (id),
  -- Who made it, by name or else as in billing.audit. Null: not known.
  created_by  text,
  CONSTRAINT api_key_replaced_by_another CHECK (replaced_by <> id),
  CONSTRAINT api_key_replaced_key_ends CHECK (replaced_by IS NULL OR expires_at IS NOT NULL),
  CONSTRAINT api_key_models_in_bounds
    CHECK (cardinality(models) <= 64 AND array_position(models, NULL) IS NULL AND array_position(models, '') IS NULL),
  CONSTRAINT api_key_networks_in_bounds
    CHECK (cardinality(networks) <= 64 AND array_to_string(networks || ''::text, ' ', '-') ~ '^([0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})? )*$'),
  CONSTRAINT api_key_root_is_another CHECK (root_key_id <> id)
);

CREATE INDEX api_key_project_id ON billing.api_key (project_id);
-- Most keys were never rotated.
CREATE INDEX api_key_root_key_id ON billing.api_key (root_key_id) WHERE root_key_id IS NOT NULL;

-- With the rights of the owner: a key is revoked even by a user that may not write the version.
CREATE FUNCTION billing.raise_version_of_project() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE billing.project SET version = version + 1 WHERE id = OLD.project_id;
  RETURN NULL;
END
$$;

CREATE TRIGGER api_key_raises_version AFTER UPDATE OR DELETE ON billing.api_key
  FOR EACH ROW EXECUTE FUNCTION billing.raise_version_of_project();

-- ==== holds ===========================================================================================================

-- Open holds only: a row is one running request, and the permit of its concurrency. The primary key is the only index;
-- the reaper scans a table as small as the number of running requests. No foreign keys on the hot path: a batch has
-- locked the account and read project and key before it writes.
CREATE TABLE billing.hold (
  id                          uuid PRIMARY KEY,
  account_id                  uuid NOT NULL,
  project_id                  uuid NOT NULL,
  key_id                      uuid NOT NULL,
  request_id                  text NOT NULL,
  model                       text NOT NULL,
  amount                      bigint NOT NULL CHECK (amount BETWEEN 0 AND 1000000000000000000),
  -- The part of the amount that came from the plan, and from which grant; the rest is top-up.
  plan_part                   bigint NOT NULL,
  grant_id                    uuid,
  -- Prices are fixed at the reserve.
  price_version               integer NOT NULL,
  input_price                 bigint NOT NULL CHECK (input_price >= 0),
  cached_input_price          bigint NOT NULL CHECK (cached_input_price >= 0),
  output_price                bigint NOT NULL CHECK (output_price >= 0),
  -- The last reading of the meter, which the reaper bills if no service settles.
  meter_sequence              integer NOT NULL DEFAULT 0,
  meter_prompt_tokens         integer NOT NULL DEFAULT 0 CHECK (meter_prompt_tokens >= 0),
  meter_cached_tokens         integer NOT NULL DEFAULT 0 CHECK (meter_cached_tokens BETWEEN 0 AND meter_prompt_tokens),
  meter_output_tokens         integer NOT NULL DEFAULT 0 CHECK (meter_output_tokens >= 0),
  meter_reasoning_tokens      integer NOT NULL DEFAULT 0 CHECK (meter_reasoning_tokens >= 0),
  created_at                  timestamptz NOT NULL,
  lease_until                 timestamptz NOT NULL,
  -- The prompt is reported by the upstream or estimated from its size; the output is reported, counted from the text that was received, or
  -- billed at a floor.
  meter_prompt_source         text CHECK (meter_prompt_source IN ('reported', 'estimated')),
  meter_output_source         text CHECK (meter_output_source IN ('reported', 'counted', 'floor')),
  -- 16 bytes, as many as a uuid has. It comes with the reserve, so that a request that only the reaper settles has it too. Null: no trace.
  trace_id                    uuid,
  -- Tokens that it counts as. Null: it was opened without a limit of tokens per minute.
  tokens                      bigint,
  -- End user, client, session and tags of the request: an object of texts, which comes with the reserve. Null: the request named none.
  attribution                 jsonb,
  -- The plan whose price it has. Null: the list price.
  price_plan                  text,
  -- The most tokens that the request can use, which budgets of tokens hold. Null: the caller did not say.
  amount_tokens               bigint,
  -- Of the prompt's images, if they have a price.
  request_price               bigint CHECK (request_price >= 0),
  image_price                 bigint CHECK (image_price >= 0),
  images                      integer,
  cache_write_price           bigint CHECK (cache_write_price >= 0),
  cache_write_1h_price        bigint CHECK (cache_write_1h_price >= 0),
  meter_cache_write_tokens    integer,
  meter_cache_write_1h_tokens integer,
  CONSTRAINT hold_plan_part_within_amount CHECK (plan_part BETWEEN 0 AND amount),
  CONSTRAINT hold_plan_part_has_grant CHECK (plan_part = 0 OR grant_id IS NOT NULL),
  CONSTRAINT hold_meter_sources_come_together CHECK ((meter_prompt_source IS NULL) = (meter_output_source IS NULL)),
  CONSTRAINT hold_tokens_above_zero CHECK (tokens > 0),
  CONSTRAINT hold_attribution_is_an_object CHECK (jsonb_typeof(attribution) = 'object' AND attribution <> '{}'),
  CONSTRAINT hold_price_plan_has_a_name CHECK (length(price_plan) BETWEEN 1 AND 64),
  CONSTRAINT hold_amount_tokens_not_negative CHECK (amount_tokens >= 0),
  CONSTRAINT hold_images_check CHECK (images IS NULL OR (images >= 0 AND image_price IS NOT NULL)),
  -- They are part of the prompt, but no constraint compares them with it: a renewal may replace the other counts and leave these.
  CONSTRAINT hold_meter_cache_writes_not_negative CHECK (least(meter_cache_write_tokens, meter_cache_write_1h_tokens) >= 0)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000);

-- ==== journals ========================================================================================================

-- How each hold ended, once: the primary key is what makes a second settlement impossible. A tombstone (project_id null)
-- is a settlement that came before its reserve, and keeps the reserve from ever opening.
-- Double entry: plan_cost, ended_cost and topup_cost leave the customer for revenue, forfeit leaves an ended grant for breakage.
CREATE TABLE billing.settlement (
  hold_id              uuid PRIMARY KEY,
  account_id           uuid NOT NULL,
  project_id           uuid,
  key_id               uuid,
  request_id           text,
  model                text,
  upstream             text,
  reason               text NOT NULL CHECK (reason IN ('completed', 'failed', 'client-disconnected', 'released', 'lease-expired')),
  held                 bigint NOT NULL CHECK (held >= 0),
  cost                 bigint NOT NULL,
  -- From the grant that was live at the settlement.
  plan_cost            bigint NOT NULL CHECK (plan_cost >= 0),
  live_grant_id        uuid,
  -- From the grant the hold was made under, which had ended, and the rest of its part, which is lost.
  ended_cost           bigint NOT NULL CHECK (ended_cost >= 0),
  forfeit              bigint NOT NULL CHECK (forfeit >= 0),
  grant_id             uuid,
  topup_cost           bigint NOT NULL CHECK (topup_cost >= 0),
  -- The cost of the usage beyond the hold. The customer never pays it.
  over                 numeric(38, 0) NOT NULL CHECK (over >= 0),
  prompt_tokens        integer NOT NULL CHECK (prompt_tokens >= 0),
  cached_tokens        integer NOT NULL,
  output_tokens        integer NOT NULL CHECK (output_tokens >= 0),
  reasoning_tokens     integer NOT NULL CHECK (reasoning_tokens >= 0),
  -- Copied from the hold, as the other prices, the trace, the attribution and the images.
  price_version        integer,
  input_price          bigint,
  cached_input_price   bigint,
  output_price         bigint,
  reserved_at          timestamptz,
  settled_at           timestamptz NOT NULL,
  prompt_source        text CHECK (prompt_source IN ('reported', 'estimated')),
  output_source        text CHECK (output_source IN ('reported', 'counted', 'floor')),
  -- The service that settled. Null: the reaper did.
  settled_by           text CHECK (settled_by IN ('gateway', 'inference-proxy')),
  -- Billing sums up usage in slices of transaction ids: every transaction below the oldest running one has ended, so a slice below it is
  -- complete, whatever the clocks say.
  transaction_id       bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
  trace_id             uuid,
  attribution          jsonb,
  price_plan           text,
  request_price        bigint,
  image_price          bigint,
  images               integer,
  cache_write_price    bigint,
  cache_write_1h_price bigint,
  -- Null: none.
  cache_write_tokens   integer,
  cache_write_1h_tokens integer,
  CONSTRAINT settlement_cost_within_held CHECK (cost BETWEEN 0 AND held),
  CONSTRAINT settlement_parts_are_the_cost CHECK (plan_cost + ended_cost + topup_cost = cost),
  CONSTRAINT settlement_over_only_when_full CHECK (over = 0 OR cost = held),
  CONSTRAINT settlement_plan_cost_has_grant CHECK (plan_cost = 0 OR live_grant_id IS NOT NULL),
  CONSTRAINT settlement_ended_has_grant CHECK (ended_cost + forfeit = 0 OR grant_id IS NOT NULL),
  CONSTRAINT settlement_ended_within_held CHECK (ended_cost + forfeit <= held),
  CONSTRAINT settlement_cached_within_prompt CHECK (cached_tokens BETWEEN 0 AND prompt_tokens),
  CONSTRAINT settlement_tombstone_is_empty CHECK (project_id IS NOT NULL OR held = 0),
  CONSTRAINT settlement_sources_come_together CHECK ((prompt_source IS NULL) = (output_source IS NULL)),
  CONSTRAINT settlement_cache_writes_within_prompt CHECK (
    coalesce(cache_write_tokens, cache_write_1h_tokens) IS NULL OR least(cache_write_tokens, cache_write_1h_tokens) >= 0
    AND cached_tokens::bigint + coalesce(cache_write_tokens, 0) + coalesce(cache_write_1h_tokens, 0) <= prompt_tokens)
) PARTITION BY RANGE (hold_id);

CREATE INDEX settlement_request_id ON billing.settlement (request_id);
-- Usage of one account over time. Tombstones used nothing.
CREATE INDEX settlement_account_id_settled_at ON billing.settlement (account_id, settled_at) WHERE project_id IS NOT NULL;
-- Finds the newest slice, and a short time range of all accounts. A BRIN index has one entry for each 128 pages, so it costs an insert next
-- to nothing.
CREATE INDEX settlement_transaction_id ON billing.settlement USING brin (transaction_id, settled_at) WITH (autosummarize = on);

-- The cost of a request whose settlement arrived after the reaper had billed its last meter reading. Once: the primary key. The reading was
-- an estimate until the upstream reports. A settlement that comes to more adds to the bill what the account has free; the rest is written
-- off. One that comes to less gives the difference back: then due is below zero, and so are plan_cost and topup_cost, which go back to where
-- the settlement had taken them from. What it had taken from a grant that has ended since is forfeited: neither the customer's nor revenue.
-- Double entry: plan_cost and topup_cost leave the customer for revenue; writeoff was earned and is never collected.
CREATE TABLE billing.late_settlement (
  hold_id               uuid PRIMARY KEY,
  account_id            uuid NOT NULL,
  reason                text NOT NULL CHECK (reason IN ('completed', 'failed', 'client-disconnected', 'released')),
  upstream              text,
  -- Of the settlement, repeated so that a constraint can see them.
  held                  bigint NOT NULL,
  billed                bigint NOT NULL CHECK (billed >= 0),
  -- The cost of the request within its hold, less what was billed.
  due                   bigint NOT NULL,
  plan_cost             bigint NOT NULL,
  live_grant_id         uuid,
  topup_cost            bigint NOT NULL,
  writeoff              bigint NOT NULL CHECK (writeoff >= 0),
  over                  numeric(38, 0) NOT NULL CHECK (over >= 0),
  prompt_tokens         integer NOT NULL CHECK (prompt_tokens >= 0),
  cached_tokens         integer NOT NULL,
  output_tokens         integer NOT NULL CHECK (output_tokens >= 0),
  reasoning_tokens      integer NOT NULL CHECK (reasoning_tokens >= 0),
  settled_at            timestamptz NOT NULL,
  forfeit               bigint CHECK (forfeit >= 0),
  prompt_source         text CHECK (prompt_source IN ('reported', 'estimated')),
  output_source         text CHECK (output_source IN ('reported', 'counted', 'floor')),
  settled_by            text CHECK (settled_by IN ('gateway', 'inference-proxy')),
  transaction_id        bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
  cache_write_tokens    integer,
  cache_write_1h_tokens integer,
  CONSTRAINT late_settlement_within_held CHECK (billed + due BETWEEN 0 AND held),
  CONSTRAINT late_settlement_parts_are_the_due CHECK (plan_cost + topup_cost + writeoff - coalesce(forfeit, 0) = due),
  -- It charges or it gives back, never both.
  CONSTRAINT late_settlement_goes_one_way CHECK (CASE WHEN due < 0 THEN plan_cost <= 0 AND topup_cost <= 0 AND writeoff = 0
    ELSE plan_cost >= 0 AND topup_cost >= 0 AND coalesce(forfeit, 0) = 0 END),
  CONSTRAINT late_settlement_plan_cost_has_grant CHECK (plan_cost = 0 OR live_grant_id IS NOT NULL),
  CONSTRAINT late_settlement_over_only_when_full CHECK (over = 0 OR billed + due = held),
  CONSTRAINT late_settlement_cached_within_prompt CHECK (cached_tokens BETWEEN 0 AND prompt_tokens),
  CONSTRAINT late_settlement_sources_come_together CHECK ((prompt_source IS NULL) = (output_source IS NULL)),
  CONSTRAINT late_settlement_cache_writes_within_prompt CHECK (
    coalesce(cache_write_tokens, cache_write_1h_tokens) IS NULL OR least(cache_write_tokens, cache_write_1h_tokens) >= 0
    AND cached_tokens::bigint + coalesce(cache_write_tokens, 0) + coalesce(cache_write_1h_tokens, 0) <= prompt_tokens)
) PARTITION BY RANGE (hold_id);

CREATE INDEX late_settlement_account_id_settled_at ON billing.late_settlement (account_id, settled_at);
CREATE INDEX late_settlement_transaction_id ON billing.late_settlement USING brin (transaction_id, settled_at) WITH (autosummarize = on);

-- Money in and plan balance out: one row for each top-up, grant, refund, adjustment and credit note, and for the forfeit of a grant's free
-- part at its end. Amounts are never negative, the kind says which way the money goes. An adjustment is a credit or a debit.
CREATE TABLE billing.movement (
  id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  account_id      uuid NOT NULL REFERENCES billing.account (id),
  kind            text NOT NULL CHECK (kind IN ('topup', 'grant', 'forfeit', 'refund', 'credit', 'debit', 'credit-note')),
  amount          numeric(38, 0) NOT NULL CHECK (amount >= 0),
  grant_id        uuid,
  grant_ends_at   timestamptz,
  -- The caller's key: a movement happens once, however often it is asked for.
  idempotency_key text NOT NULL UNIQUE,
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Why, in the words of the person who asked for it.
  reason          text,
  -- The top-up a refund gives back. Without one it is against all top-ups of the account.
  refund_of       uuid REFERENCES billing.movement (id),
  transaction_id  bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
  -- Settled hold whose cost a credit note gives back, in whole or in part. No foreign key, because months of the journal can be detached.
  note_of         uuid,
  CONSTRAINT movement_grant_is_named CHECK ((kind IN ('grant', 'forfeit')) = (grant_id IS NOT NULL)),
  CONSTRAINT movement_grant_ends CHECK ((kind = 'grant') = (grant_ends_at IS NOT NULL)),
  CONSTRAINT movement_moves_something CHECK (amount > 0 OR kind IN ('topup', 'grant', 'forfeit')),
  CONSTRAINT movement_adjustment_has_reason CHECK (reason IS NOT NULL OR kind NOT IN ('credit', 'debit', 'credit-note')),
  CONSTRAINT movement_refund_of_is_a_refunds CHECK (refund_of IS NULL OR kind = 'refund'),
  CONSTRAINT movement_note_of_is_a_notes CHECK ((kind = 'credit-note') = (note_of IS NOT NULL))
);

-- A statement of account, page by page.
CREATE INDEX movement_account_id_created_at ON billing.movement (account_id, created_at, id);
CREATE INDEX movement_refund_of ON billing.movement (refund_of) WHERE refund_of IS NOT NULL;
CREATE INDEX movement_note_of ON billing.movement (note_of) WHERE note_of IS NOT NULL;
-- Finds the movements after the last closed month.
CREATE INDEX movement_transaction_id ON billing.movement USING brin (transaction_id, created_at) WITH (autosummarize = on);

-- Journals are written once.
CREATE FUNCTION billing.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'billing.% is a journal: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER settlement_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.settlement
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER late_settlement_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.late_settlement
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER movement_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.movement
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

-- No CHECK of one row can say it: an account never gets back more than it topped up, nor of one top-up more than that. The account is locked
-- first, so that the sums see every refund committed before.
CREATE FUNCTION billing.refuse_excess_refund() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM billing.account WHERE id = NEW.account_id FOR NO KEY UPDATE;
  IF (SELECT sum(CASE kind WHEN 'topup' THEN amount ELSE -amount END) FROM billing.movement
      WHERE account_id = NEW.account_id AND kind IN ('topup', 'refund')) < 0 THEN
    RAISE EXCEPTION 'billing: account % would get back more than it topped up', NEW.account_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'movement_refund_within_topups';
  END IF;
  IF NEW.refund_of IS NOT NULL AND NOT EXISTS (
      SELECT FROM billing.movement t WHERE t.id = NEW.refund_of AND t.account_id = NEW.account_id AND t.kind = 'topup'
        AND t.amount >= (SELECT sum(amount) FROM billing.movement WHERE refund_of = t.id)) THEN
    RAISE EXCEPTION 'billing: refund % is not within its top-up', NEW.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'movement_refund_within_its_topup';
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER movement_refund_within_topups AFTER INSERT ON billing.movement
  FOR EACH ROW WHEN (NEW.kind = 'refund') EXECUTE FUNCTION billing.refuse_excess_refund();

-- The sum of the notes of a request spans rows, so a CHECK cannot limit it. The account is locked first, so that the sum has every note that
-- was committed before. The bill of the reaper is not final: a late settlement may still lower it.
CREATE FUNCTION billing.refuse_excess_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM billing.account WHERE id = NEW.account_id FOR NO KEY UPDATE;
  IF NOT EXISTS (
      SELECT FROM billing.settlement s LEFT JOIN billing.late_settlement l ON l.hold_id = s.hold_id
      WHERE s.hold_id = NEW.note_of AND s.account_id = NEW.account_id AND (s.reason <> 'lease-expired' OR l.hold_id IS NOT NULL)
        AND s.cost + coalesce(l.due - l.writeoff, 0) >= (SELECT sum(amount) FROM billing.movement WHERE note_of = NEW.note_of)) THEN
    RAISE EXCEPTION 'billing: credit note % is not within the cost of its request', NEW.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'movement_note_within_cost';
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER movement_note_within_cost AFTER INSERT ON billing.movement
  FOR EACH ROW WHEN (NEW.kind = 'credit-note') EXECUTE FUNCTION billing.refuse_excess_note();

-- ==== what batches ask for ============================================================================================

-- Aborts a batch that did not touch the rows it decided about. Returns true, so that a statement can select it.
CREATE FUNCTION billing.demand(condition boolean, what text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF condition IS NOT TRUE THEN
    RAISE EXCEPTION 'billing: %', what USING ERRCODE = 'assert_failure';
  END IF;
  RETURN true;
END
$$;

-- Aborts a batch that takes reserves for new whose holds were settled before, or are open. The batch inserts those that it does not refuse,
-- and their primary key says whether they are open. A function, because its queries then have snapshots of their own: they see
-- what was committed while the batch waited for the lock of the account. Each id comes with its account.
--
-- A batch that refuses an id of a detached month is repeated under the lock; a hold of such an id
-- fails by its constraint.
--
-- This function and the next look for each id in its partition, because Postgres does not choose partitions by the values of an array. The
-- lowest and the highest id leave out the other partitions before the statement starts, so that a batch does not open those of years. Where
-- the tables are distributed by account, the account is a part of their keys, and both functions are replaced: `demand_new` then looks among
-- the holds of each account alone, and `used_elsewhere` returns nothing.
CREATE FUNCTION billing.demand_new(reserved uuid[], reserved_of uuid[], refused uuid[], refused_of uuid[]) RETURNS boolean
  LANGUAGE plpgsql AS $$
DECLARE
  one uuid;
  lowest uuid;
  highest uuid;
BEGIN
  FOREACH one IN ARRAY reserved LOOP
    lowest := least(lowest, one);
    highest := greatest(highest, one);
  END LOOP;
  IF EXISTS (
    SELECT FROM unnest(reserved) AS r (hold_id),
      LATERAL (SELECT FROM billing.settlement WHERE hold_id = r.hold_id AND hold_id BETWEEN lowest AND highest LIMIT 1) AS s
  ) OR EXISTS (SELECT FROM billing.hold WHERE id = ANY (refused)) THEN
    RAISE EXCEPTION 'billing: a reserve was decided before' USING ERRCODE = 'assert_failure';
  END IF;
  IF refused <> '{}' THEN
    IF EXISTS (SELECT FROM billing.detached_month WHERE ids_below > lowest) THEN
      RAISE EXCEPTION 'billing: a reserve is of a detached month' USING ERRCODE = 'assert_failure';
    END IF;
  END IF;
  RETURN true;
END
$$;

-- Ids of holds, open or settled, that are of another account than the one named with them.
CREATE FUNCTION billing.used_elsewhere(holds uuid[], accounts uuid[]) RETURNS SETOF uuid LANGUAGE plpgsql STABLE AS $$
DECLARE
  one uuid;
  lowest uuid;
  highest uuid;
BEGIN
  FOREACH one IN ARRAY holds LOOP
    lowest := least(lowest, one);
    highest := greatest(highest, one);
  END LOOP;
  RETURN QUERY SELECT r.hold_id FROM unnest(holds, accounts) AS r (hold_id, payer_id),
      LATERAL (SELECT account_id FROM billing.hold WHERE id = r.hold_id LIMIT 1) AS h
    WHERE h.account_id <> r.payer_id
    UNION ALL SELECT r.hold_id FROM unnest(holds, accounts) AS r (hold_id, payer_id),
      LATERAL (SELECT account_id FROM billing.settlement WHERE hold_id = r.hold_id AND hold_id BETWEEN lowest AND highest LIMIT 1) AS s
    WHERE s.account_id <> r.payer_id;
END
$$;

-- ==== partitions of the journals ======================================================================================

-- Lowest id (UUIDv7) of a month, which is given as its first day: the ids of holds begin with the milliseconds of their time.
CREATE FUNCTION billing.first_id_of(month date) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM month) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Adds a partition to a journal, with the trigger that refuses changes: partitions do not inherit triggers of statements.
CREATE FUNCTION billing.add_partition(journal text, part text, bounds text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TABLE journal.%I (LIKE billing.%I INCLUDING ALL)', part, journal);
  EXECUTE format('CREATE TRIGGER %I BEFORE UPDATE OR DELETE OR TRUNCATE ON journal.%I FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change()',
    journal || '_is_immutable', part);
  EXECUTE format('ALTER TABLE billing.%I ATTACH PARTITION journal.%I %s', journal, part, bounds);
END
$$;

-- Adds the partitions of a month to both journals, or the default ones. A late settlement is in the same month as its settlement, and its
-- foreign key refers to the partition of that month.
CREATE FUNCTION billing.add_partitions(month text, bounds text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM billing.add_partition('settlement', 'settlement_' || month, bounds);
  PERFORM billing.add_partition('late_settlement', 'late_settlement_' || month, bounds);
  EXECUTE format('ALTER TABLE journal.%I ADD CONSTRAINT late_settlement_hold_id_fkey FOREIGN KEY (hold_id) REFERENCES journal.%I',
    'late_settlement_' || month, 'settlement_' || month);
END
$$;

-- Adds the partitions of the months after the last one, up to `ahead` months from now. With the rights of the owner, because billing may
-- create no table. Replicas call it at the same time.
--
-- Rows of a month without a partition go to the default one, so no batch fails when the call is missing. `outside` is the number of rows
-- there, at most 100,000. Their month gets no partition later, because rows never move. Adding a partition reads the default one under its
-- lock, so nothing is added while it is large; batches wait for no other lock.
CREATE FUNCTION billing.keep_months(ahead integer, OUT added text[], OUT outside bigint) LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = '' SET lock_timeout = '300ms' AS $$
DECLARE
  month date;
  lowest uuid;
  above uuid;
BEGIN
  added := '{}';
  SELECT count(*) INTO outside FROM (SELECT FROM journal.settlement_default LIMIT 100000) s;
  IF NOT pg_try_advisory_xact_lock(7243011) THEN
    RETURN; -- another replica adds them
  END IF;
  SELECT to_date(max(right(relname, 7)), 'YYYY_MM') INTO month FROM pg_class
    WHERE relnamespace = 'journal'::regnamespace AND relname ~ '^settlement_\d{4}_\d{2}$';
  WHILE outside < 100000 AND month < date_trunc('month', now() AT TIME ZONE 'UTC') + ahead * interval '1 month' LOOP
    month := month + interval '1 month';
    lowest := billing.first_id_of(month);
    above := billing.first_id_of((month + interval '1 month')::date);
    CONTINUE WHEN EXISTS (SELECT FROM journal.settlement_default WHERE hold_id >= lowest AND hold_id < above);
    PERFORM billing.add_partitions(to_char(month, 'YYYY_MM'), format('FOR VALUES FROM (%L) TO (%L)', lowest, above));
    added := added || to_char(month, 'YYYY-MM');
  END LOOP;
END
$$;

REVOKE ALL ON FUNCTION billing.keep_months(integer) FROM PUBLIC;

-- The first partition is that of the next month, and has all ids before.
SELECT billing.add_partitions(to_char(month, 'YYYY_MM'),
  format('FOR VALUES FROM (MINVALUE) TO (%L)', billing.first_id_of((month + interval '1 month')::date)))
FROM (SELECT date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month' AS month) AS first;
SELECT billing.add_partitions('default', 'DEFAULT');
SELECT billing.keep_months(3);

-- ==== closed and detached months ======================================================================================

-- Digests of a month's journal rows, and its sums by account, which the ledger check starts from.
CREATE TABLE billing.month (
  id        text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  -- Names the rows and the SHA-256 of each file of the month, and the digest of the month before. Its own SHA-256 is the month's digest.
  manifest  text NOT NULL,
  closed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Statement of an account: the sums of the month, and what was there before and after. An account has a row in each month after its first.
CREATE TABLE billing.month_account (
  month         text COLLATE "C" NOT NULL,
  account_id    uuid NOT NULL,
  requests      bigint NOT NULL,
  opening       numeric(38, 0) NOT NULL,
  topups        numeric(38, 0) NOT NULL,
  grants        numeric(38, 0) NOT NULL,
  credits       numeric(38, 0) NOT NULL,
  refunds       numeric(38, 0) NOT NULL,
  debits        numeric(38, 0) NOT NULL,
  forfeited     numeric(38, 0) NOT NULL,
  cost          numeric(38, 0) NOT NULL,
  closing       numeric(38, 0) NOT NULL,
  -- Top-up money in `closing`.
  topup_closing numeric(38, 0) NOT NULL,
  -- All top-ups less all refunds, since the first month.
  refundable    numeric(38, 0) NOT NULL,
  PRIMARY KEY (month, account_id),
  CONSTRAINT month_account_adds_up
    CHECK (closing = opening + topups + grants + credits - refunds - debits - forfeited - cost)
);

-- Grants that may still be charged after the month: what was granted, and what is gone since.
CREATE TABLE billing.month_grant (
  month      text COLLATE "C" NOT NULL,
  grant_id   uuid NOT NULL,
  account_id uuid NOT NULL,
  amount     numeric(38, 0) NOT NULL,
  gone       numeric(38, 0) NOT NULL,
  ended      boolean NOT NULL,
  PRIMARY KEY (month, grant_id, account_id)
);

CREATE TRIGGER month_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.month
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER month_account_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.month_account
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER month_grant_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.month_grant
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

-- Months that were taken out of the journals, oldest first: what the ledger check needs of them.
CREATE TABLE billing.detached_month (
  id                     text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  -- Range of the hold ids. Null: from the first one.
  ids_from               uuid,
  ids_below              uuid NOT NULL UNIQUE,
  -- First day on which none of the rows counts.
  counted_to             date NOT NULL,
  settlements            bigint NOT NULL,
  settlements_digest     text NOT NULL,
  late_settlements       bigint NOT NULL,
  late_settlements_digest text NOT NULL,
  -- SHA-256 of `detached_account` and `detached_grant`.
  sums_digest            text NOT NULL,
  -- Files of closed months that lack the rows of this month and of those detached before: rows and SHA-256 of what is left.
  rests                  jsonb NOT NULL,
  detached_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT detached_month_has_ids CHECK (ids_from < ids_below)
);

-- What the rows of a detached month changed, by account and by grant.
CREATE TABLE billing.detached_account (
  month        text COLLATE "C" NOT NULL,
  account_id   uuid NOT NULL,
  change       numeric(38, 0) NOT NULL,
  topup_change numeric(38, 0) NOT NULL,
  PRIMARY KEY (month, account_id)
);
CREATE TABLE billing.detached_grant (
  month      text COLLATE "C" NOT NULL,
  grant_id   uuid NOT NULL,
  account_id uuid NOT NULL,
  gone       numeric(38, 0) NOT NULL,
  PRIMARY KEY (month, grant_id, account_id)
);

CREATE TRIGGER detached_month_is_immutable BEFORE UPDATE OR TRUNCATE ON billing.detached_month
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER detached_account_is_immutable BEFORE UPDATE OR TRUNCATE ON billing.detached_account
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER detached_grant_is_immutable BEFORE UPDATE OR TRUNCATE ON billing.detached_grant
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

-- Digest of the rows of a journal below an id, in the order of their ids. Each row is hashed with the digest of all before it.
CREATE FUNCTION billing.journal_digest(journal regclass, below uuid, OUT row_count bigint, OUT digest text) LANGUAGE plpgsql STABLE
  SET search_path = '' SET timezone = 'UTC' AS $$
DECLARE
  line text;
  chained bytea := '';
BEGIN
  row_count := 0;
  FOR line IN EXECUTE format('SELECT to_jsonb(j)::text FROM %s j WHERE hold_id < %L ORDER BY hold_id', journal, below) LOOP
    chained := sha256(chained || convert_to(line, 'UTF8'));
    row_count := row_count + 1;
  END LOOP;
  digest := encode(chained, 'hex');
END
$$;

-- Refuses holds and journal rows with ids of detached months, which are of no partition; null: of no month. An open hold of these ids makes it fail.
CREATE FUNCTION billing.refuse_ids(below uuid) RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  place text[];
BEGIN
  FOREACH place SLICE 1 IN ARRAY ARRAY[
    ['billing.hold', 'id', 'hold_is_not_detached'],
    ['journal.settlement_default', 'hold_id', 'settlement_is_not_detached'],
    ['journal.late_settlement_default', 'hold_id', 'late_settlement_is_not_detached']
  ] LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I', place[1], place[3]);
    IF below IS NOT NULL THEN
      EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%I >= %L)', place[1], place[3], place[2], below);
    END IF;
  END LOOP;
END
$$;

-- Takes the oldest month out of the journals. `detached` is its row of billing.detached_month. `added` is the number of its rows from
-- transactions from `since` on: another number now means that rows were added while they were summed.
--
-- Requests wait for the locks below, for 300 ms at most; then they go on, and it tries again. A ledger check yields.
CREATE FUNCTION billing.detach_month(detached jsonb, since bigint, added bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = '' SET lock_timeout = '300ms' AS $$
DECLARE
  of billing.detached_month := jsonb_populate_record(NULL::billing.detached_month, detached);
  part text := replace(of.id, '-', '_');
  journal text;
  found_now bigint;
BEGIN
  IF part IS DISTINCT FROM (SELECT min(right(relname, 7)) FROM pg_catalog.pg_inherits JOIN pg_catalog.pg_class ON oid = inhrelid
      WHERE inhparent = 'billing.settlement'::regclass AND relname ~ '^settlement_\d{4}_\d{2}$')
    OR of.ids_below IS DISTINCT FROM billing.first_id_of((to_date(of.id, 'YYYY-MM') + interval '1 month')::date)
    OR NOT EXISTS (SELECT FROM billing.month WHERE id = of.id)
    OR NOT EXISTS (SELECT FROM billing.month WHERE id = to_char(to_date(of.id, 'YYYY-MM') + interval '1 month', 'YYYY-MM')) THEN
    RAISE EXCEPTION 'billing: % is not the oldest month, or it and the next one are not closed.', of.id USING ERRCODE = 'assert_failure';
  END IF;
  FOR attempt IN 1..20 LOOP
    BEGIN
      LOCK TABLE billing.hold, billing.settlement, billing.late_settlement IN ACCESS EXCLUSIVE MODE;
      EXECUTE format('SELECT (SELECT count(*) FROM journal.%I WHERE transaction_id >= $1) + (SELECT count(*) FROM journal.%I WHERE transaction_id >= $1)',
        'settlement_' || part, 'late_settlement_' || part) INTO found_now USING since;
      IF found_now <> added THEN
        RAISE EXCEPTION 'billing: Rows were added to % meanwhile: try again.', of.id USING ERRCODE = 'assert_failure';
      END IF;
      FOREACH journal IN ARRAY ARRAY['late_settlement', 'settlement'] LOOP
        EXECUTE format('ALTER TABLE billing.%I DETACH PARTITION journal.%I', journal, journal || '_' || part);
        EXECUTE format('ALTER TABLE journal.%I SET SCHEMA detached', journal || '_' || part);
      END LOOP;
      PERFORM billing.refuse_ids(of.ids_below);
      INSERT INTO billing.detached_month (id, ids_from, ids_below, counted_to, settlements, settlements_digest, late_settlements,
          late_settlements_digest, sums_digest, rests)
        VALUES (of.id, of.ids_from, of.ids_below, of.counted_to, of.settlements, of.settlements_digest, of.late_settlements,
          of.late_settlements_digest, of.sums_digest, of.rests);
      RETURN;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
      IF attempt = 20 THEN
        RAISE;
      END IF;
      PERFORM pg_sleep(0.5);
    END;
  END LOOP;
END
$$;

-- Makes the tables of the month that was detached last ready to be attached, if they have the rows that they had. Locks nothing else. The
-- digest is compared first: then the tables get the columns and checks that the journals have now. New columns are empty for older rows.
CREATE FUNCTION billing.verify_month(month text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  of billing.detached_month;
  part text := replace(month, '-', '_');
  journal text;
  sealed text;
  taken regclass;
  whole regclass;
  changes text;
BEGIN
  SELECT * INTO of FROM billing.detached_month ORDER BY ids_below DESC LIMIT 1;
  IF of.id IS DISTINCT FROM month THEN
    RAISE EXCEPTION 'billing: The month to attach is %.', coalesce(of.id, 'none') USING ERRCODE = 'assert_failure';
  END IF;
  FOREACH journal IN ARRAY ARRAY['settlement', 'late_settlement'] LOOP
    IF to_regclass(format('detached.%I', journal || '_' || part)) IS NULL THEN
      RAISE EXCEPTION 'billing: There is no table detached.%: restore its dump.', journal || '_' || part USING ERRCODE = 'assert_failure';
    END IF;
    EXECUTE format('LOCK TABLE detached.%I IN SHARE ROW EXCLUSIVE MODE', journal || '_' || part);
    sealed := CASE journal WHEN 'settlement' THEN of.settlements || ' ' || of.settlements_digest
      ELSE of.late_settlements || ' ' || of.late_settlements_digest END;
    IF sealed IS DISTINCT FROM (SELECT row_count || ' ' || digest
        FROM billing.journal_digest(format('detached.%I', journal || '_' || part)::regclass, 'ffffffff-ffff-ffff-ffff-ffffffffffff')) THEN
      RAISE EXCEPTION 'billing: The rows of detached.% are not those that were detached.', journal || '_' || part USING ERRCODE = 'assert_failure';
    END IF;
  END LOOP;
  FOREACH journal IN ARRAY ARRAY['settlement', 'late_settlement'] LOOP
    taken := format('detached.%I', journal || '_' || part)::regclass;
    whole := format('billing.%I', journal)::regclass;
    SELECT string_agg(CASE relation WHEN whole THEN format('ADD %s %I %s', kind, name, text) ELSE format('DROP %s %I', kind, name) END, ', '
      ORDER BY kind DESC) INTO changes FROM (
        SELECT p.*, count(*) OVER (PARTITION BY kind, name, text) AS copies FROM (
          SELECT attrelid AS relation, 'COLUMN' AS kind, attname AS name, format_type(atttypid, atttypmod) AS text FROM pg_attribute
            WHERE attrelid IN (whole, taken) AND attnum > 0 AND NOT attisdropped
          UNION ALL
          SELECT conrelid, 'CONSTRAINT', conname, regexp_replace(pg_get_constraintdef(oid), ' NOT VALID$', '') FROM pg_constraint
            WHERE conrelid IN (whole, taken) AND contype = 'c'
        ) AS p
      ) AS p WHERE copies = 1;
    IF changes IS NOT NULL THEN
      EXECUTE format('ALTER TABLE %s %s', taken, changes);
    END IF;
    EXECUTE format('ALTER TABLE detached.%I SET SCHEMA journal', journal || '_' || part);
    EXECUTE format('CREATE OR REPLACE TRIGGER %I BEFORE UPDATE OR DELETE OR TRUNCATE ON journal.%I FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change()',
      journal || '_is_immutable', journal || '_' || part);
    -- With it Postgres attaches the table without reading it.
    EXECUTE format('ALTER TABLE journal.%I ADD CONSTRAINT has_ids_of_month CHECK (hold_id >= %L AND hold_id < %L)', journal || '_' || part,
      coalesce(of.ids_from, '00000000-0000-0000-0000-000000000000'), of.ids_below);
  END LOOP;
  EXECUTE format('ALTER TABLE journal.%I DROP CONSTRAINT IF EXISTS late_settlement_hold_id_fkey, ADD CONSTRAINT late_settlement_hold_id_fkey
    FOREIGN KEY (hold_id) REFERENCES journal.%I', 'late_settlement_' || part, 'settlement_' || part);
END
$$;

-- Puts the month that `verify_month` has made ready back into the journals.
CREATE FUNCTION billing.attach_month(month text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = '' SET lock_timeout = '300ms' AS $$
DECLARE
  of billing.detached_month;
  part text := replace(month, '-', '_');
  journal text;
BEGIN
  SELECT * INTO STRICT of FROM billing.detached_month WHERE id = month;
  FOR attempt IN 1..20 LOOP
    BEGIN
      LOCK TABLE billing.hold, billing.settlement, billing.late_settlement IN ACCESS EXCLUSIVE MODE;
      FOREACH journal IN ARRAY ARRAY['settlement', 'late_settlement'] LOOP
        EXECUTE format('ALTER TABLE billing.%I ATTACH PARTITION journal.%I FOR VALUES FROM (%s) TO (%L)', journal, journal || '_' || part,
          coalesce(quote_literal(of.ids_from), 'MINVALUE'), of.ids_below);
        EXECUTE format('ALTER TABLE journal.%I DROP CONSTRAINT has_ids_of_month', journal || '_' || part);
      END LOOP;
      PERFORM billing.refuse_ids(of.ids_from);
      DELETE FROM billing.detached_month WHERE id = month;
      DELETE FROM billing.detached_account a WHERE a.month = attach_month.month;
      DELETE FROM billing.detached_grant g WHERE g.month = attach_month.month;
      RETURN;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
      IF attempt = 20 THEN
        RAISE;
      END IF;
      PERFORM pg_sleep(0.5);
    END;
  END LOOP;
END
$$;

REVOKE ALL ON FUNCTION billing.refuse_ids(uuid), billing.detach_month(jsonb, bigint, bigint), billing.verify_month(text),
  billing.attach_month(text) FROM PUBLIC;

-- ==== usage ===========================================================================================================

-- Sums of usage by hour and by day. `upstream` is '' for requests that reached none. Collation "C": byte order, independent of the locale of
-- the database.
CREATE TABLE billing.usage_hour (
  account_id            uuid NOT NULL,
  hour                  timestamptz NOT NULL,
  project_id            uuid NOT NULL,
  key_id                uuid NOT NULL,
  model                 text COLLATE "C" NOT NULL,
  upstream              text COLLATE "C" NOT NULL,
  ending                text COLLATE "C" NOT NULL,
  requests              bigint NOT NULL,
  estimated_requests    bigint NOT NULL,
  prompt_tokens         bigint NOT NULL,
  cached_tokens         bigint NOT NULL,
  output_tokens         bigint NOT NULL,
  reasoning_tokens      bigint NOT NULL,
  cost                  numeric(38, 0) NOT NULL,
  forfeit               numeric(38, 0) NOT NULL,
  -- Time of the newest settlement in this row.
  last_at               timestamptz NOT NULL,
  cache_write_tokens    bigint NOT NULL DEFAULT 0,
  cache_write_1h_tokens bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, hour, project_id, key_id, model, upstream, ending)
) WITH (fillfactor = 70);

CREATE TABLE billing.usage_day (
  account_id            uuid NOT NULL,
  day                   timestamptz NOT NULL,
  project_id            uuid NOT NULL,
  key_id                uuid NOT NULL,
  model                 text COLLATE "C" NOT NULL,
  upstream              text COLLATE "C" NOT NULL,
  ending                text COLLATE "C" NOT NULL,
  requests              bigint NOT NULL,
  estimated_requests    bigint NOT NULL,
  prompt_tokens         bigint NOT NULL,
  cached_tokens         bigint NOT NULL,
  output_tokens         bigint NOT NULL,
  reasoning_tokens      bigint NOT NULL,
  cost                  numeric(38, 0) NOT NULL,
  forfeit               numeric(38, 0) NOT NULL,
  last_at               timestamptz NOT NULL,
  cache_write_tokens    bigint NOT NULL DEFAULT 0,
  cache_write_1h_tokens bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, day, project_id, key_id, model, upstream, ending)
) WITH (fillfactor = 70);

-- Queries of all accounts.
CREATE INDEX usage_hour_hour ON billing.usage_hour (hour);
CREATE INDEX usage_day_day ON billing.usage_day (day);
-- Last use of a key.
CREATE INDEX usage_day_key_id ON billing.usage_day (key_id, day);

-- The one row whose lock makes the replicas take turns.
CREATE TABLE billing.usage_state (
  id                integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  -- Journal rows with a lower transaction id are in the rollups, all others are not.
  closed_to         bigint NOT NULL DEFAULT 0 CHECK (closed_to >= 0),
  -- Transaction ids belong to one cluster. A database that was dumped and restored into another one is counted anew.
  system_identifier bigint,
  closed_at         timestamptz,
  -- Time of the newest settlement in the rollups.
  newest_at         timestamptz
);

INSERT INTO billing.usage_state (id) VALUES (1);

-- ==== ledger check ====================================================================================================

-- The last reports. Billing keeps 100 and deletes older ones.
CREATE TABLE billing.ledger_report (
  checked_at timestamptz PRIMARY KEY,
  report     jsonb NOT NULL
);

-- The checkpoint of the scheduled ledger check: the sums of the rows that passed, from which the next scheduled check starts. It saves time and
-- proves nothing: a requested check, a full one and the closing of a month read the rows.
CREATE TABLE billing.checkpoint (
  id                integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  -- The last closed month then; empty: none.
  month             text COLLATE "C" NOT NULL,
  -- The sums have all rows of lower transaction ids and no others. All transactions below had ended.
  transaction_end   bigint NOT NULL,
  -- Transaction ids belong to one cluster: in another the checkpoint is not used.
  system_identifier bigint NOT NULL,
  -- Time of the check that read the whole open month.
  made_at           timestamptz NOT NULL,
  -- Rows below the end, those of closed months included.
  settlements       bigint NOT NULL,
  late_settlements  bigint NOT NULL
);

CREATE TABLE billing.checkpoint_account (
  account_id    uuid PRIMARY KEY,
  closing       numeric(38, 0) NOT NULL,
  topup_closing numeric(38, 0) NOT NULL,
  refundable    numeric(38, 0) NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE billing.checkpoint_grant (
  grant_id   uuid NOT NULL,
  account_id uuid NOT NULL,
  amount     numeric(38, 0) NOT NULL,
  gone       numeric(38, 0) NOT NULL,
  PRIMARY KEY (grant_id, account_id)
) WITH (fillfactor = 70);

-- ==== the audit journal ===============================================================================================

-- One row for each administrative change, written in the transaction of the change.
CREATE TABLE billing.audit (
  -- UUID v7 of `at`, so that the order of ids is the order of time.
  id         uuid PRIMARY KEY,
  at         timestamptz NOT NULL,
  -- `user/<id>`, `token/<id>`, `cli/<os-user>@<host>`, `nats/<user>` of a caller that named no actor, or `service/billing`.
  actor      text NOT NULL,
  actor_name text,
  -- NATS user that the change came through.
  via        text,
  ip         text,
  request_id text,
  action     text NOT NULL,
  account_id uuid,
  -- The changed row, as `<kind>/<id>`. The guards below look for it.
  target     text NOT NULL,
  reason     text,
  before     jsonb,
  after      jsonb
);

CREATE INDEX audit_account_id ON billing.audit (account_id, id);
CREATE INDEX audit_actor ON billing.audit (actor, id);
CREATE INDEX audit_target ON billing.audit (target);

-- One link for each audit row, in the order of the commits. The digest covers the row and the digest of the link before.
CREATE TABLE billing.audit_link (
  sequence bigint PRIMARY KEY,
  audit_id uuid NOT NULL,
  digest   bytea NOT NULL
);

-- One row: the last link. Its row lock orders the commits, and it shows when the last rows of the journal are removed.
CREATE TABLE billing.audit_head (
  sequence bigint NOT NULL,
  digest   bytea NOT NULL
);

INSERT INTO billing.audit_head (sequence, digest) VALUES (0, '');

CREATE TRIGGER audit_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.audit
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER audit_link_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.audit_link
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

-- Names the columns, so that a column added later does not change the digests of older rows.
CREATE FUNCTION billing.audit_digest(previous bytea, entry billing.audit) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT sha256(previous || convert_to(jsonb_build_array(entry.id, extract(epoch FROM entry.at), entry.actor, entry.actor_name, entry.via,
    entry.ip, entry.request_id, entry.action, entry.account_id, entry.target, entry.reason, entry.before, entry.after)::text, 'UTF8'))
$$;

-- With the rights of the owner: the services may not write links. Runs at the commit, so that the head is locked for the commit alone, and
-- not while the service that makes the change is waited for.
CREATE FUNCTION billing.link_audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  head billing.audit_head;
BEGIN
  UPDATE billing.audit_head h SET sequence = h.sequence + 1, digest = billing.audit_digest(h.digest, NEW) RETURNING h.* INTO STRICT head;
  INSERT INTO billing.audit_link (sequence, audit_id, digest) VALUES (head.sequence, NEW.id, head.digest);
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER audit_is_linked AFTER INSERT ON billing.audit DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.link_audit();

-- A UUIDv7: 48 bits of milliseconds, the version, 12 bits of microseconds, and random ones. Audit rows of one transaction sort in the order
-- in which it wrote them.
CREATE FUNCTION billing.id_of(moment timestamptz) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT encode(overlay(uuid_send(gen_random_uuid())
    PLACING int8send((micros / 1000 << 16) | x'7000'::bigint | micros % 1000) FROM 1 FOR 8), 'hex')::uuid
  FROM (SELECT floor(extract(epoch FROM moment) * 1000000)::bigint AS micros) AS clock
$$;

-- Writes the audit row of a change, and returns it for the log. `caller` has actor, actorName, via, ip and requestId.
CREATE FUNCTION billing.record_audit(caller jsonb, action text, account_id uuid, target text, reason text, before jsonb, after jsonb)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := clock_timestamp();
  id uuid := billing.id_of(at);
BEGIN
  INSERT INTO billing.audit (id, at, actor, actor_name, via, ip, request_id, action, account_id, target, reason, before, after)
  VALUES (id, at, caller ->> 'actor', caller ->> 'actorName', caller ->> 'via', caller ->> 'ip', caller ->> 'requestId', action, account_id,
    target, reason, before, after);
  RETURN jsonb_build_object('id', id, 'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'actor', caller -> 'actor',
    'actorName', caller -> 'actorName', 'via', caller -> 'via', 'ip', caller -> 'ip', 'requestId', caller -> 'requestId', 'action', action,
    'accountId', account_id, 'target', target, 'reason', reason, 'before', before, 'after', after);
END
$$;

-- Refuses the commit of a change without an audit row of the same transaction that names the changed row. `xmin` is the transaction that
-- inserted a row; a row that was inserted after a savepoint is not found. The limits of a key may be changed by the name of any key of its
-- rotations, those of an account with the account.
CREATE FUNCTION billing.demand_audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed text := coalesce(NEW.id, OLD.id)::text;
BEGIN
  IF EXISTS (SELECT FROM billing.audit WHERE target = TG_ARGV[0] || '/' || changed AND xmin = pg_current_xact_id()::xid) THEN
    RETURN NULL;
  END IF;
  IF TG_TABLE_NAME = 'rate_limit' THEN
    IF EXISTS (
      SELECT FROM billing.api_key k JOIN billing.audit a ON a.target = 'key/' || k.id AND a.xmin = pg_current_xact_id()::xid
      WHERE k.root_key_id = changed::uuid) THEN
      RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM billing.audit WHERE target = 'account/' || changed AND xmin = pg_current_xact_id()::xid) THEN
      RETURN NULL;
    END IF;
  END IF;
  RAISE EXCEPTION 'billing: %/% was changed without an audit row', TG_ARGV[0], changed
    USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, HINT = 'Call billing.record_audit in the same transaction.';
END
$$;

-- Each change that operators make is audited. UPDATE OF names the columns that they change. Batches of requests set none of them, so these
-- triggers cost them nothing.
CREATE CONSTRAINT TRIGGER account_insert_is_audited AFTER INSERT OR DELETE ON billing.account DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('account');
CREATE CONSTRAINT TRIGGER account_update_is_audited AFTER UPDATE OF id, name, status, status_reason, low_balance, created_at
  ON billing.account DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.id, OLD.name, OLD.status, OLD.status_reason, OLD.low_balance, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.name, NEW.status, NEW.status_reason, NEW.low_balance, NEW.created_at))
  EXECUTE FUNCTION billing.demand_audit('account');
CREATE CONSTRAINT TRIGGER account_price_plan_is_audited AFTER UPDATE OF price_plan ON billing.account DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.price_plan IS DISTINCT FROM NEW.price_plan) EXECUTE FUNCTION billing.demand_audit('account');
CREATE CONSTRAINT TRIGGER account_next_price_plan_is_audited AFTER UPDATE OF next_price_plan, next_price_plan_from ON billing.account
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.next_price_plan, OLD.next_price_plan_from) IS DISTINCT FROM (NEW.next_price_plan, NEW.next_price_plan_from))
  EXECUTE FUNCTION billing.demand_audit('account');
CREATE CONSTRAINT TRIGGER account_credit_line_is_audited AFTER UPDATE OF credit_line ON billing.account DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.credit_line IS DISTINCT FROM NEW.credit_line) EXECUTE FUNCTION billing.demand_audit('account');
CREATE CONSTRAINT TRIGGER account_maxima_are_audited AFTER UPDATE OF projects_max, active_keys_max ON billing.account
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.projects_max, OLD.active_keys_max) IS DISTINCT FROM (NEW.projects_max, NEW.active_keys_max))
  EXECUTE FUNCTION billing.demand_audit('account');

CREATE CONSTRAINT TRIGGER project_insert_is_audited AFTER INSERT OR DELETE ON billing.project DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('project');
CREATE CONSTRAINT TRIGGER project_update_is_audited
  AFTER UPDATE OF id, account_id, name, enabled, requests_per_minute_max, concurrency_max, created_at
  ON billing.project DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.id, OLD.account_id, OLD.name, OLD.enabled, OLD.requests_per_minute_max, OLD.concurrency_max, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.account_id, NEW.name, NEW.enabled, NEW.requests_per_minute_max, NEW.concurrency_max, NEW.created_at))
  EXECUTE FUNCTION billing.demand_audit('project');
CREATE CONSTRAINT TRIGGER project_tags_are_audited AFTER UPDATE OF tags ON billing.project DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.tags IS DISTINCT FROM NEW.tags) EXECUTE FUNCTION billing.demand_audit('project');

CREATE CONSTRAINT TRIGGER api_key_insert_is_audited AFTER INSERT OR DELETE ON billing.api_key DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('key');
CREATE CONSTRAINT TRIGGER api_key_update_is_audited AFTER UPDATE ON billing.api_key DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION billing.demand_audit('key');

-- A grant that ends writes a forfeit by itself.
CREATE CONSTRAINT TRIGGER movement_is_audited AFTER INSERT ON billing.movement DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.kind <> 'forfeit') EXECUTE FUNCTION billing.demand_audit('movement');
CREATE CONSTRAINT TRIGGER month_is_audited AFTER INSERT ON billing.month DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('month');
CREATE CONSTRAINT TRIGGER detached_month_is_audited AFTER INSERT OR DELETE ON billing.detached_month DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('month');

-- ==== budgets =========================================================================================================

-- Limits on the cost or the tokens of an account, a project or a key in a period, decided with the hold.
CREATE TABLE billing.budget (
  id             uuid PRIMARY KEY,
  account_id     uuid NOT NULL REFERENCES billing.account (id),
  -- Null: the budget of the whole account.
  project_id     uuid REFERENCES billing.project (id),
  -- Null: the budget of the whole project.
  key_id         uuid REFERENCES billing.api_key (id),
  period         text NOT NULL CHECK (period IN ('day', 'week', 'month', 'total')),
  -- IANA name.
  time_zone      text NOT NULL,
  limit_amount   numeric(38, 0) NOT NULL CHECK (limit_amount >= 0),
  -- Usage of the requests whose hold was opened at or after `window_start`.
  spent          numeric(38, 0) NOT NULL,
  -- Their open holds.
  held           numeric(38, 0) NOT NULL,
  -- The current window. A period without windows has -infinity and infinity.
  window_start   timestamptz NOT NULL,
  window_end     timestamptz NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Percentages of the limit, ascending, and the highest of which the current window has had its event.
  thresholds     smallint[] NOT NULL DEFAULT '{50,80,100}',
  passed         smallint NOT NULL DEFAULT 0,
  -- Each value of this part of the attribution has the limit for itself. Null: all requests count together.
  dimension      text CHECK (dimension ~ '^(user|tag:[A-Za-z0-9][A-Za-z0-9._-]{0,63})$'),
  -- Only this value. Null: each.
  value          text,
  -- Of `limit_amount`, `spent` and `held`, and of the rows of billing.budget_value: pico-USD or tokens.
  unit           text NOT NULL DEFAULT 'usd' CHECK (unit IN ('usd', 'tokens')),
  -- Day on which a week (1: Monday) or a month begins.
  start_day      smallint NOT NULL DEFAULT 1,
  set_by         text NOT NULL DEFAULT 'operator' CHECK (set_by IN ('operator', 'customer')),
  -- The operator's limit, where the customer has lowered it. Null: limit_amount.
  operator_limit numeric(38, 0),
  CONSTRAINT budget_spent_not_negative CHECK (spent >= 0),
  CONSTRAINT budget_held_not_negative CHECK (held >= 0),
  CONSTRAINT budget_window_in_order CHECK (window_start < window_end),
  CONSTRAINT budget_key_has_project CHECK (key_id IS NULL OR project_id IS NOT NULL),
  CONSTRAINT budget_thresholds_are_percentages
    CHECK (cardinality(thresholds) <= 10 AND 1 <= ALL (thresholds) AND 100 >= ALL (thresholds)),
  CONSTRAINT budget_passed_is_percentage CHECK (passed BETWEEN 0 AND 100),
  CONSTRAINT budget_value_has_dimension CHECK (value IS NULL OR dimension IS NOT NULL),
  -- Those with a dimension are counted in billing.budget_value.
  CONSTRAINT budget_counts_in_one_place CHECK (dimension IS NULL OR (spent = 0 AND held = 0)),
  -- A million users would be as many events.
  CONSTRAINT budget_of_each_value_has_no_thresholds
    CHECK (dimension IS NULL OR value IS NOT NULL OR (cardinality(thresholds) = 0 AND passed = 0)),
  CONSTRAINT budget_start_day_check CHECK (start_day BETWEEN 1 AND CASE period WHEN 'week' THEN 7 WHEN 'month' THEN 28 ELSE 1 END),
  CONSTRAINT budget_within_operator CHECK (operator_limit IS NULL OR (set_by = 'operator' AND limit_amount <= operator_limit)),
  CONSTRAINT budget_once_a_unit UNIQUE NULLS NOT DISTINCT (account_id, project_id, key_id, dimension, value, period, unit)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Finds budgets whose window is over, also of accounts without requests. Batches change no end of a window.
CREATE INDEX budget_window_end ON billing.budget (window_end) WHERE dimension IS NULL;

-- Budgets of end users and tags: one definition, and a row for each user or value of a tag that has spent or holds something. Only billing
-- changes it, in batches of the account and under the account's lock. Rows of a window that is over, or of a budget that is removed, are
-- deleted later: no foreign key, which would delete a million of them at once.
CREATE TABLE billing.budget_value (
  budget_id  uuid NOT NULL,
  account_id uuid NOT NULL,
  -- Names the window: its start can move when the clock is set back.
  window_end timestamptz NOT NULL,
  value      text COLLATE "C" NOT NULL,
  spent      numeric(38, 0) NOT NULL,
  held       numeric(38, 0) NOT NULL,
  PRIMARY KEY (budget_id, window_end, value),
  CONSTRAINT budget_value_spent_not_negative CHECK (spent >= 0),
  CONSTRAINT budget_value_held_not_negative CHECK (held >= 0)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);

-- Counts the budgets of an account. Each change of a budget also writes the account's row, so that no batch is decided from an older budget.
-- With the rights of the owner: the service may not write the count. `spent` and `held`, which batches write, are not named.
CREATE FUNCTION billing.count_budget() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE billing.account SET budget_count = budget_count + CASE TG_OP WHEN 'INSERT' THEN 1 WHEN 'DELETE' THEN -1 ELSE 0 END
  WHERE id = coalesce(NEW.account_id, OLD.account_id);
  RETURN NULL;
END
$$;

CREATE TRIGGER budget_writes_account AFTER INSERT OR DELETE OR UPDATE OF project_id, key_id, period, time_zone, limit_amount, window_start
  ON billing.budget FOR EACH ROW EXECUTE FUNCTION billing.count_budget();
CREATE TRIGGER budget_thresholds_write_account AFTER UPDATE OF thresholds ON billing.budget
  FOR EACH ROW EXECUTE FUNCTION billing.count_budget();
CREATE TRIGGER budget_unit_writes_account AFTER UPDATE OF unit, start_day
  ON billing.budget FOR EACH ROW EXECUTE FUNCTION billing.count_budget();

CREATE CONSTRAINT TRIGGER budget_insert_is_audited AFTER INSERT OR DELETE ON billing.budget DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('budget');
CREATE CONSTRAINT TRIGGER budget_update_is_audited
  AFTER UPDATE OF id, account_id, project_id, key_id, period, time_zone, limit_amount, created_at
  ON billing.budget DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.id, OLD.account_id, OLD.project_id, OLD.key_id, OLD.period, OLD.time_zone, OLD.limit_amount, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.account_id, NEW.project_id, NEW.key_id, NEW.period, NEW.time_zone, NEW.limit_amount, NEW.created_at))
  EXECUTE FUNCTION billing.demand_audit('budget');
CREATE CONSTRAINT TRIGGER budget_thresholds_are_audited AFTER UPDATE OF thresholds ON billing.budget DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.thresholds IS DISTINCT FROM NEW.thresholds) EXECUTE FUNCTION billing.demand_audit('budget');
CREATE CONSTRAINT TRIGGER budget_unit_is_audited AFTER UPDATE OF unit, start_day ON billing.budget DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((OLD.unit, OLD.start_day) IS DISTINCT FROM (NEW.unit, NEW.start_day)) EXECUTE FUNCTION billing.demand_audit('budget');
CREATE CONSTRAINT TRIGGER budget_operator_is_audited AFTER UPDATE OF set_by, operator_limit ON billing.budget
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.set_by, OLD.operator_limit) IS DISTINCT FROM (NEW.set_by, NEW.operator_limit))
  EXECUTE FUNCTION billing.demand_audit('budget');

-- ==== rate limits =====================================================================================================

-- Limits of accounts, projects and keys per minute and in flight, decided with the hold. Requests per minute and concurrency of a project are in
-- its own row.
CREATE TABLE billing.rate_limit (
  -- Id of the key, of the project or of the account.
  id                      uuid PRIMARY KEY,
  account_id              uuid NOT NULL REFERENCES billing.account (id),
  -- Null: the limits of the whole account.
  project_id              uuid REFERENCES billing.project (id),
  -- Null: the limits of the whole project.
  key_id                  uuid REFERENCES billing.api_key (id),
  requests_per_minute_max integer CHECK (requests_per_minute_max > 0),
  concurrency_max         integer CHECK (concurrency_max > 0),
  tokens_per_minute_max   integer CHECK (tokens_per_minute_max > 0),
  open_holds              integer NOT NULL,
  -- As billing.project.request_window; the second counts tokens.
  request_window          json NOT NULL DEFAULT '[]',
  token_window            json NOT NULL DEFAULT '[]',
  -- Array of objects: model, a pattern; requestsPerMinuteMax and tokensPerMinuteMax. Null: none.
  model_limits            jsonb,
  -- By pattern, two windows as request_window: requests and tokens.
  model_windows           json NOT NULL DEFAULT '{}',
  -- The most that the operator allows, by name of the limit. Null: all limits of the row are the operator's.
  operator_limits         jsonb,
  CONSTRAINT rate_limit_is_of_its_target CHECK (id = coalesce(key_id, project_id, account_id)
    AND (project_id IS NOT NULL OR key_id IS NULL)),
  CONSTRAINT rate_limit_has_a_limit
    CHECK (num_nonnulls(requests_per_minute_max, concurrency_max, tokens_per_minute_max, model_limits) > 0),
  CONSTRAINT rate_limit_model_limits_check CHECK (jsonb_array_length(model_limits) BETWEEN 1 AND 16
    AND NOT jsonb_path_exists(model_limits, '$[*] ? (!(@.requestsPerMinuteMax > 0 || @.tokensPerMinuteMax > 0))')),
  CONSTRAINT rate_limit_of_project_counts_tokens
    CHECK (key_id IS NOT NULL OR project_id IS NULL OR num_nonnulls(requests_per_minute_max, concurrency_max) = 0),
  CONSTRAINT rate_limit_open_holds_not_negative CHECK (open_holds >= 0),
  -- The account's own row counts its open holds.
  CONSTRAINT rate_limit_of_account_counts_no_holds CHECK (project_id IS NOT NULL OR open_holds = 0),
  CONSTRAINT rate_limit_within_operator CHECK (
    (operator_limits -> 'requestsPerMinuteMax' IS NULL
      OR coalesce(requests_per_minute_max <= (operator_limits ->> 'requestsPerMinuteMax')::integer, false))
    AND (operator_limits -> 'concurrencyMax' IS NULL
      OR coalesce(concurrency_max <= (operator_limits ->> 'concurrencyMax')::integer, false))
    AND (operator_limits -> 'tokensPerMinuteMax' IS NULL
      OR coalesce(tokens_per_minute_max <= (operator_limits ->> 'tokensPerMinuteMax')::integer, false))
    AND (operator_limits -> 'modelLimits' IS NULL OR model_limits IS NOT NULL))
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Counts the rate limits of an account. Each change of one also writes the account's row, so that no batch is decided from an older limit.
-- With the rights of the owner: the service may not write the count. The columns that batches write are not named.
CREATE FUNCTION billing.count_rate_limit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE billing.account SET limit_count = limit_count + CASE TG_OP WHEN 'INSERT' THEN 1 WHEN 'DELETE' THEN -1 ELSE 0 END
  WHERE id = coalesce(NEW.account_id, OLD.account_id);
  RETURN NULL;
END
$$;

CREATE TRIGGER rate_limit_writes_account
  AFTER INSERT OR DELETE OR UPDATE OF id, project_id, key_id, requests_per_minute_max, concurrency_max, tokens_per_minute_max
  ON billing.rate_limit FOR EACH ROW EXECUTE FUNCTION billing.count_rate_limit();
CREATE TRIGGER rate_limit_of_model_writes_account AFTER UPDATE OF model_limits
  ON billing.rate_limit FOR EACH ROW EXECUTE FUNCTION billing.count_rate_limit();

-- The audit row is that of the key, the project or the account.
CREATE CONSTRAINT TRIGGER rate_limit_of_key_is_added_audited AFTER INSERT ON billing.rate_limit DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.key_id IS NOT NULL) EXECUTE FUNCTION billing.demand_audit('key');
CREATE CONSTRAINT TRIGGER rate_limit_of_key_is_removed_audited AFTER DELETE ON billing.rate_limit DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.key_id IS NOT NULL) EXECUTE FUNCTION billing.demand_audit('key');
CREATE CONSTRAINT TRIGGER rate_limit_of_key_is_audited
  AFTER UPDATE OF id, account_id, project_id, key_id, requests_per_minute_max, concurrency_max, tokens_per_minute_max
  ON billing.rate_limit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NOT NULL
    AND (OLD.id, OLD.account_id, OLD.project_id, OLD.key_id, OLD.requests_per_minute_max, OLD.concurrency_max, OLD.tokens_per_minute_max)
    IS DISTINCT FROM (NEW.id, NEW.account_id, NEW.project_id, NEW.key_id, NEW.requests_per_minute_max, NEW.concurrency_max, NEW.tokens_per_minute_max))
  EXECUTE FUNCTION billing.demand_audit('key');
CREATE CONSTRAINT TRIGGER rate_limit_of_model_of_key_is_audited AFTER UPDATE OF model_limits ON billing.rate_limit
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NOT NULL AND OLD.model_limits IS DISTINCT FROM NEW.model_limits)
  EXECUTE FUNCTION billing.demand_audit('key');
CREATE CONSTRAINT TRIGGER rate_limit_operator_of_key_is_audited AFTER UPDATE OF operator_limits ON billing.rate_limit
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NOT NULL AND OLD.operator_limits IS DISTINCT FROM NEW.operator_limits)
  EXECUTE FUNCTION billing.demand_audit('key');
CREATE CONSTRAINT TRIGGER rate_limit_of_project_is_added_audited AFTER INSERT ON billing.rate_limit DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.key_id IS NULL) EXECUTE FUNCTION billing.demand_audit('project');
CREATE CONSTRAINT TRIGGER rate_limit_of_project_is_removed_audited AFTER DELETE ON billing.rate_limit DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.key_id IS NULL) EXECUTE FUNCTION billing.demand_audit('project');
CREATE CONSTRAINT TRIGGER rate_limit_of_project_is_audited
  AFTER UPDATE OF id, account_id, project_id, key_id, requests_per_minute_max, concurrency_max, tokens_per_minute_max
  ON billing.rate_limit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NULL
    AND (OLD.id, OLD.account_id, OLD.project_id, OLD.key_id, OLD.requests_per_minute_max, OLD.concurrency_max, OLD.tokens_per_minute_max)
    IS DISTINCT FROM (NEW.id, NEW.account_id, NEW.project_id, NEW.key_id, NEW.requests_per_minute_max, NEW.concurrency_max, NEW.tokens_per_minute_max))
  EXECUTE FUNCTION billing.demand_audit('project');
CREATE CONSTRAINT TRIGGER rate_limit_of_model_of_project_is_audited AFTER UPDATE OF model_limits ON billing.rate_limit
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NULL AND OLD.model_limits IS DISTINCT FROM NEW.model_limits)
  EXECUTE FUNCTION billing.demand_audit('project');
CREATE CONSTRAINT TRIGGER rate_limit_operator_of_project_is_audited AFTER UPDATE OF operator_limits ON billing.rate_limit
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NULL AND OLD.operator_limits IS DISTINCT FROM NEW.operator_limits)
  EXECUTE FUNCTION billing.demand_audit('project');

-- ==== plan subscriptions ==============================================================================================

-- An account gets a plan grant for each period.
CREATE TABLE billing.plan_subscription (
  account_id uuid PRIMARY KEY REFERENCES billing.account (id),
  -- In the idempotency key of each grant, so that an account that subscribes again is granted again.
  id         uuid NOT NULL,
  -- Pico-USD of each grant.
  amount     numeric(38, 0) NOT NULL,
  period     text NOT NULL,
  -- IANA name.
  time_zone  text NOT NULL,
  -- From this moment on the next grant is due. Each grant moves it to its own end, in the same transaction.
  due_at     timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT plan_subscription_amount_check CHECK (amount > 0),
  CONSTRAINT plan_subscription_period_check CHECK (period IN ('day', 'week', 'month'))
);

CREATE INDEX plan_subscription_due_at ON billing.plan_subscription (due_at);

CREATE CONSTRAINT TRIGGER plan_subscription_insert_is_audited AFTER INSERT OR DELETE ON billing.plan_subscription
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('subscription');
-- A grant is audited as a movement, so `due_at` is not named.
CREATE CONSTRAINT TRIGGER plan_subscription_update_is_audited
  AFTER UPDATE OF id, account_id, amount, period, time_zone, created_at ON billing.plan_subscription
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.id, OLD.account_id, OLD.amount, OLD.period, OLD.time_zone, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.account_id, NEW.amount, NEW.period, NEW.time_zone, NEW.created_at))
  EXECUTE FUNCTION billing.demand_audit('subscription');

-- ==== money events ====================================================================================================

-- An outbox. Each event is a row that is written in the transaction of the change that it tells of. Triggers write what the change of one row
-- tells: a low balance, the end of a plan, a frozen account, the next window of a budget. Every service that changes the row then has the
-- event. A batch writes what only it knows: thresholds of budgets, and refusals.
CREATE TABLE billing.money_event (
  -- UUID v7 of `created_at`, the same in every delivery.
  id           uuid PRIMARY KEY,
  account_id   uuid NOT NULL REFERENCES billing.account (id),
  -- 1, 2, 3, … of the account, in the order of the commits.
  sequence     bigint NOT NULL CHECK (sequence > 0),
  kind         text NOT NULL CHECK (kind IN ('balance-low', 'balance-exhausted', 'budget-threshold', 'budget-exhausted', 'budget-reset',
    'plan-expired', 'key-expiring', 'account-frozen', 'ledger-fault')),
  payload      jsonb NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Null: not on NATS yet.
  published_at timestamptz,
  CONSTRAINT money_event_once_in_sequence UNIQUE (account_id, sequence)
);

CREATE INDEX money_event_unpublished ON billing.money_event (account_id, sequence) WHERE published_at IS NULL;
CREATE INDEX money_event_created_at ON billing.money_event (created_at);
-- A key is announced once for each end that it is given.
CREATE UNIQUE INDEX money_event_key_expiring ON billing.money_event ((payload ->> 'keyId'), (payload ->> 'expiresAt'))
  WHERE kind = 'key-expiring';

-- Numbers an event under the lock of its account, so that the order of the numbers is the order of the commits. With the rights of the owner:
-- the service may not write the number.
CREATE FUNCTION billing.number_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE billing.account SET event_sequence = event_sequence + 1,
    refused_at = CASE WHEN NEW.kind IN ('balance-exhausted', 'budget-exhausted') THEN NEW.created_at ELSE refused_at END
  WHERE id = NEW.account_id RETURNING event_sequence INTO NEW.sequence;
  NEW.id := billing.id_of(NEW.created_at);
  RETURN NEW;
END
$$;

CREATE TRIGGER money_event_is_numbered BEFORE INSERT ON billing.money_event
  FOR EACH ROW WHEN (NEW.sequence IS NULL) EXECUTE FUNCTION billing.number_event();

-- The credit line is part of the balance.
CREATE FUNCTION billing.tell_of_account() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO billing.money_event (account_id, kind, payload) VALUES (NEW.id, TG_ARGV[0], CASE TG_ARGV[0]
    WHEN 'balance-low' THEN jsonb_build_object('balancePicoUsd', (NEW.topup + NEW.plan + NEW.credit_line)::text,
      'lowBalancePicoUsd', NEW.low_balance::text)
    ELSE jsonb_build_object('reason', NEW.status_reason) END);
  RETURN NULL;
END
$$;

-- The balance crosses its threshold downwards, or gets one that is above it.
CREATE TRIGGER account_balance_is_low AFTER UPDATE OF topup, plan, low_balance, credit_line ON billing.account FOR EACH ROW
  WHEN (NEW.low_balance IS NOT NULL AND NEW.topup + NEW.plan + NEW.credit_line < NEW.low_balance
    AND (OLD.topup + OLD.plan + OLD.credit_line >= NEW.low_balance OR OLD.low_balance IS DISTINCT FROM NEW.low_balance))
  EXECUTE FUNCTION billing.tell_of_account('balance-low');
CREATE TRIGGER account_is_frozen AFTER UPDATE OF status ON billing.account FOR EACH ROW
  WHEN (NEW.status = 'frozen' AND OLD.status <> 'frozen') EXECUTE FUNCTION billing.tell_of_account('account-frozen');

CREATE FUNCTION billing.tell_of_plan() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO billing.money_event (account_id, kind, payload)
  VALUES (NEW.account_id, 'plan-expired', jsonb_build_object('grantId', NEW.grant_id, 'forfeitedPicoUsd', NEW.amount::text));
  RETURN NULL;
END
$$;

CREATE TRIGGER movement_ends_plan AFTER INSERT ON billing.movement
  FOR EACH ROW WHEN (NEW.kind = 'forfeit') EXECUTE FUNCTION billing.tell_of_plan();

-- The sum is that of the window that is over, the times are those of the one that begins.
CREATE FUNCTION billing.tell_of_reset() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO billing.money_event (account_id, kind, payload) VALUES (NEW.account_id, 'budget-reset',
    jsonb_build_object('budgetId', NEW.id, 'projectId', NEW.project_id, 'keyId', NEW.key_id, 'period', NEW.period,
      'windowStart', to_char(NEW.window_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'resetsAt', to_char(NEW.window_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    || CASE NEW.unit WHEN 'tokens' THEN jsonb_build_object('limitTokens', NEW.limit_amount, 'spentTokens', OLD.spent)
      ELSE jsonb_build_object('limitPicoUsd', NEW.limit_amount::text, 'spentPicoUsd', OLD.spent::text) END);
  RETURN NULL;
END
$$;

-- Batches of requests set no window, except the one that begins the next. Budgets of users and tags have no events. A change of the time zone
-- or of the first day is the operator's: the window that it makes may begin after the old one ended, and is no reset.
CREATE TRIGGER budget_is_reset AFTER UPDATE OF window_start ON billing.budget FOR EACH ROW
  WHEN (NEW.dimension IS NULL AND NEW.window_start >= OLD.window_end
    AND (NEW.time_zone, NEW.start_day) = (OLD.time_zone, OLD.start_day))
  EXECUTE FUNCTION billing.tell_of_reset();

-- ==== webhooks ========================================================================================================

-- URLs that get the money events of one account, or of all.
CREATE TABLE billing.webhook (
  id                    uuid PRIMARY KEY,
  -- Null: the events of all accounts.
  account_id            uuid REFERENCES billing.account (id),
  url                   text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
  allow_private_network boolean NOT NULL DEFAULT false,
  -- Its secret is derived from KEY_PEPPER, `id`, this number and the salt, and is stored nowhere.
  secret_version        integer NOT NULL DEFAULT 1 CHECK (secret_version > 0),
  -- Until then messages are signed with the secret before as well.
  previous_until        timestamptz,
  created_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- A secret that was once shown must not come back with its id. Empty: the webhook was added by version 0.1.0, without one.
  secret_salt           text NOT NULL DEFAULT ''
);

CREATE INDEX webhook_account_id ON billing.webhook (account_id);

-- The events of one account to one webhook: a cursor. Only the next event is under way, so that their order is kept.
CREATE TABLE billing.webhook_delivery (
  webhook_id uuid NOT NULL REFERENCES billing.webhook (id) ON DELETE CASCADE,
  account_id uuid NOT NULL,
  -- Sequence of the last event that was delivered or given up.
  done       bigint NOT NULL,
  -- Sequence of the last event.
  last       bigint NOT NULL,
  -- Failed attempts since the last success.
  attempts   integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- Time of the next attempt. Null: everything is delivered.
  due_at     timestamptz,
  -- Of the last attempt. Null: it succeeded.
  failure    text,
  PRIMARY KEY (webhook_id, account_id),
  CONSTRAINT webhook_delivery_done_in_order CHECK (done <= last),
  CONSTRAINT webhook_delivery_is_due_or_done CHECK ((due_at IS NULL) = (done = last))
) WITH (fillfactor = 50);

CREATE INDEX webhook_delivery_due ON billing.webhook_delivery (webhook_id, due_at) WHERE due_at IS NOT NULL;

-- Events that were given up.
CREATE TABLE billing.dead_letter (
  webhook_id uuid NOT NULL REFERENCES billing.webhook (id) ON DELETE CASCADE,
  event_id   uuid NOT NULL REFERENCES billing.money_event (id) ON DELETE CASCADE,
  attempts   integer NOT NULL CHECK (attempts > 0),
  failure    text NOT NULL,
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (webhook_id, event_id)
);

CREATE INDEX dead_letter_event_id ON billing.dead_letter (event_id);

-- Makes an event due at the webhooks of its account, in the transaction that writes it.
CREATE FUNCTION billing.queue_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO billing.webhook_delivery AS d (webhook_id, account_id, done, last, due_at)
  SELECT id, NEW.account_id, NEW.sequence - 1, NEW.sequence, clock_timestamp() FROM billing.webhook
  WHERE account_id IS NULL OR account_id = NEW.account_id ORDER BY id
  ON CONFLICT (webhook_id, account_id) DO UPDATE SET last = NEW.sequence, due_at = coalesce(d.due_at, excluded.due_at);
  RETURN NULL;
END
$$;

CREATE TRIGGER money_event_is_queued AFTER INSERT ON billing.money_event FOR EACH ROW EXECUTE FUNCTION billing.queue_event();

CREATE CONSTRAINT TRIGGER webhook_is_audited AFTER INSERT OR DELETE OR UPDATE ON billing.webhook DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('webhook');

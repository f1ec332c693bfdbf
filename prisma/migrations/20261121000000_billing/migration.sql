-- Money: billing.md 2.2. Amounts are integers of pico-USD: BIGINT for one request, NUMERIC(38,0) for balances.
-- Every rule of the ledger stands here a second time, as a constraint: a faulty replica gets an error, never a wrong balance.

CREATE SCHEMA IF NOT EXISTS billing;

-- ---- accounts --------------------------------------------------------------------------------------------------------

-- One row a customer, updated by every batch: no secondary index and a low fillfactor keep each update on its page (HOT).
CREATE TABLE billing.account (
  id            uuid PRIMARY KEY,
  name          text NOT NULL,
  status        text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'frozen')),
  topup         numeric(38, 0) NOT NULL DEFAULT 0,
  topup_held    numeric(38, 0) NOT NULL DEFAULT 0,
  plan          numeric(38, 0) NOT NULL DEFAULT 0,
  plan_held     numeric(38, 0) NOT NULL DEFAULT 0,
  -- Money of ended grants that only the holds made under them may still use; in no balance.
  expired       numeric(38, 0) NOT NULL DEFAULT 0,
  grant_id      uuid,
  grant_ends_at timestamptz,
  open_holds    integer NOT NULL DEFAULT 0,
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT account_topup_covers_held CHECK (0 <= topup_held AND topup_held <= topup),
  CONSTRAINT account_plan_covers_held CHECK (0 <= plan_held AND plan_held <= plan),
  CONSTRAINT account_expired_not_negative CHECK (expired >= 0),
  CONSTRAINT account_open_holds_not_negative CHECK (open_holds >= 0),
  CONSTRAINT account_plan_has_grant CHECK ((grant_id IS NULL) = (grant_ends_at IS NULL) AND (grant_id IS NOT NULL OR plan = 0))
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000);

-- Limits live with the project and are decided in the same step as its money (billing.md 6).
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
  CONSTRAINT project_open_holds_not_negative CHECK (open_holds >= 0)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000);

-- Never updated by a batch, so it costs the hot rows nothing.
CREATE INDEX project_account_id ON billing.project (account_id);

CREATE TABLE billing.api_key (
  id         uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES billing.project (id),
  name       text,
  -- HMAC-SHA-256 under the pepper, of the SHA-256 of the key. The key itself is nowhere.
  digest     bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
  last_four  text NOT NULL CHECK (char_length(last_four) = 4),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz
);

CREATE INDEX api_key_project_id ON billing.api_key (project_id);

-- ---- holds -----------------------------------------------------------------------------------------------------------

-- Open holds only: a row is one running request, and the permit of its concurrency. The primary key is the only index;
-- the reaper scans a table as small as the number of running requests. No foreign keys on the hot path: a batch has
-- locked the account and read project and key before it writes.
CREATE TABLE billing.hold (
  id                     uuid PRIMARY KEY,
  account_id             uuid NOT NULL,
  project_id             uuid NOT NULL,
  key_id                 uuid NOT NULL,
  request_id             text NOT NULL,
  model                  text NOT NULL,
  amount                 bigint NOT NULL CHECK (amount BETWEEN 0 AND 1000000000000000000),
  -- What of the amount came from the plan, and from which grant; the rest is top-up.
  plan_part              bigint NOT NULL,
  grant_id               uuid,
  price_version          integer NOT NULL,
  input_price            bigint NOT NULL CHECK (input_price >= 0),
  cached_input_price     bigint NOT NULL CHECK (cached_input_price >= 0),
  output_price           bigint NOT NULL CHECK (output_price >= 0),
  -- The last reading of the meter: what is billed if nobody is left to settle.
  meter_sequence         integer NOT NULL DEFAULT 0,
  meter_prompt_tokens    integer NOT NULL DEFAULT 0 CHECK (meter_prompt_tokens >= 0),
  meter_cached_tokens    integer NOT NULL DEFAULT 0 CHECK (meter_cached_tokens BETWEEN 0 AND meter_prompt_tokens),
  meter_output_tokens    integer NOT NULL DEFAULT 0 CHECK (meter_output_tokens >= 0),
  meter_reasoning_tokens integer NOT NULL DEFAULT 0 CHECK (meter_reasoning_tokens >= 0),
  meter_source           text CHECK (meter_source IN ('reported', 'estimated')),
  created_at             timestamptz NOT NULL,
  lease_until            timestamptz NOT NULL,
  CONSTRAINT hold_plan_part_within_amount CHECK (plan_part BETWEEN 0 AND amount),
  CONSTRAINT hold_plan_part_has_grant CHECK (plan_part = 0 OR grant_id IS NOT NULL)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000);

-- ---- journals --------------------------------------------------------------------------------------------------------

-- How each hold ended, once: the primary key is what makes a second settlement impossible. A tombstone (project_id null)
-- is a settlement that came before its reserve, and keeps the reserve from ever opening.
-- Double entry: plan_cost, ended_cost and topup_cost leave the customer for revenue, forfeit leaves an ended grant for breakage.
CREATE TABLE billing.settlement (
  hold_id            uuid PRIMARY KEY,
  account_id         uuid NOT NULL,
  project_id         uuid,
  key_id             uuid,
  request_id         text,
  model              text,
  upstream           text,
  reason             text NOT NULL CHECK (reason IN ('completed', 'failed', 'client-left', 'released', 'lease-expired')),
  held               bigint NOT NULL CHECK (held >= 0),
  cost               bigint NOT NULL,
  -- From the grant that was live at the settlement.
  plan_cost          bigint NOT NULL CHECK (plan_cost >= 0),
  live_grant_id      uuid,
  -- From the grant the hold was made under, which had ended, and what of its part nobody can use any more.
  ended_cost         bigint NOT NULL CHECK (ended_cost >= 0),
  forfeit            bigint NOT NULL CHECK (forfeit >= 0),
  grant_id           uuid,
  topup_cost         bigint NOT NULL CHECK (topup_cost >= 0),
  -- What the usage came to beyond the hold. The customer never pays it.
  over               numeric(38, 0) NOT NULL CHECK (over >= 0),
  prompt_tokens      integer NOT NULL CHECK (prompt_tokens >= 0),
  cached_tokens      integer NOT NULL,
  output_tokens      integer NOT NULL CHECK (output_tokens >= 0),
  reasoning_tokens   integer NOT NULL CHECK (reasoning_tokens >= 0),
  usage_source       text CHECK (usage_source IN ('reported', 'estimated')),
  price_version      integer,
  input_price        bigint,
  cached_input_price bigint,
  output_price       bigint,
  reserved_at        timestamptz,
  settled_at         timestamptz NOT NULL,
  CONSTRAINT settlement_cost_within_held CHECK (cost BETWEEN 0 AND held),
  CONSTRAINT settlement_parts_are_the_cost CHECK (plan_cost + ended_cost + topup_cost = cost),
  CONSTRAINT settlement_over_only_when_full CHECK (over = 0 OR cost = held),
  CONSTRAINT settlement_plan_cost_has_grant CHECK (plan_cost = 0 OR live_grant_id IS NOT NULL),
  CONSTRAINT settlement_ended_has_grant CHECK (ended_cost + forfeit = 0 OR grant_id IS NOT NULL),
  CONSTRAINT settlement_ended_within_held CHECK (ended_cost + forfeit <= held),
  CONSTRAINT settlement_cached_within_prompt CHECK (cached_tokens BETWEEN 0 AND prompt_tokens),
  CONSTRAINT settlement_tombstone_is_empty CHECK (project_id IS NOT NULL OR held = 0)
);

CREATE INDEX settlement_request_id ON billing.settlement (request_id);

-- Money in and plan balance out: one row for each top-up, grant, and forfeit of a grant's free part at its end.
CREATE TABLE billing.movement (
  id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  account_id      uuid NOT NULL REFERENCES billing.account (id),
  kind            text NOT NULL CHECK (kind IN ('topup', 'grant', 'forfeit')),
  amount          numeric(38, 0) NOT NULL CHECK (amount >= 0),
  grant_id        uuid,
  grant_ends_at   timestamptz,
  -- The caller's key: a movement happens once, however often it is asked for.
  idempotency_key text NOT NULL UNIQUE,
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT movement_grant_is_named CHECK ((kind = 'topup') = (grant_id IS NULL)),
  CONSTRAINT movement_grant_ends CHECK ((kind = 'grant') = (grant_ends_at IS NOT NULL))
);

CREATE INDEX movement_account_id ON billing.movement (account_id);

-- Journals are written once.
CREATE FUNCTION billing.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'billing.% is a journal: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER settlement_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.settlement
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER movement_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.movement
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

-- Aborts a batch that did not touch the rows it decided about. Returns true, so that a statement can select it.
CREATE FUNCTION billing.demand(condition boolean, what text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF condition IS NOT TRUE THEN
    RAISE EXCEPTION 'billing: %', what USING ERRCODE = 'assert_failure';
  END IF;
  RETURN true;
END
$$;

-- Brings a database of version 0.1.0 to the state of the baselines, in one transaction (from-0.1.0.ts). Each part is a migration that builds
-- after 0.1.0 had; a part that the database has is left out. Functions are then replaced by those of the baselines.

-- ==== first

-- These rows have meanings that no version knows.
DO $$
BEGIN
  IF EXISTS (SELECT FROM billing.settlement WHERE usage_source IS NOT NULL OR reason = 'client-left')
    OR EXISTS (SELECT FROM billing.late_settlement WHERE usage_source IS NOT NULL OR reason = 'client-left') THEN
    RAISE EXCEPTION 'the journals have rows of builds before version 0.1.0: use an empty database';
  END IF;
END
$$;

-- ==== 20261128070200_proven_passwords
ALTER TABLE panel."user" ADD COLUMN password_proven boolean NOT NULL DEFAULT false;
CREATE TABLE panel.sign_in_address (
  user_id uuid NOT NULL REFERENCES panel."user" (id),
  address text NOT NULL,
  at      timestamptz NOT NULL,
  PRIMARY KEY (user_id, address)
);
CREATE INDEX sign_in_address_address_at ON panel.sign_in_address (address, at);

-- ==== 20261128070700_account_limits
ALTER TABLE billing.account
  ADD COLUMN projects_max integer NOT NULL DEFAULT 100,
  ADD COLUMN active_keys_max integer NOT NULL DEFAULT 1000,
  ADD CONSTRAINT account_maxima_above_zero CHECK (projects_max > 0 AND active_keys_max > 0);
CREATE CONSTRAINT TRIGGER account_maxima_are_audited AFTER UPDATE OF projects_max, active_keys_max ON billing.account
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.projects_max, OLD.active_keys_max) IS DISTINCT FROM (NEW.projects_max, NEW.active_keys_max))
  EXECUTE FUNCTION billing.demand_audit('account');
ALTER TABLE billing.rate_limit
  ALTER COLUMN project_id DROP NOT NULL,
  ADD COLUMN operator_limits jsonb,
  DROP CONSTRAINT rate_limit_is_of_its_target,
  ADD CONSTRAINT rate_limit_is_of_its_target CHECK (id = coalesce(key_id, project_id, account_id)
    AND (project_id IS NOT NULL OR key_id IS NULL)),
  DROP CONSTRAINT rate_limit_of_project_counts_tokens,
  ADD CONSTRAINT rate_limit_of_project_counts_tokens
    CHECK (key_id IS NOT NULL OR project_id IS NULL OR num_nonnulls(requests_per_minute_max, concurrency_max) = 0),
  ADD CONSTRAINT rate_limit_of_account_counts_no_holds CHECK (project_id IS NOT NULL OR open_holds = 0),
  ADD CONSTRAINT rate_limit_within_operator CHECK (
    (operator_limits -> 'requestsPerMinuteMax' IS NULL
      OR coalesce(requests_per_minute_max <= (operator_limits ->> 'requestsPerMinuteMax')::integer, false))
    AND (operator_limits -> 'concurrencyMax' IS NULL
      OR coalesce(concurrency_max <= (operator_limits ->> 'concurrencyMax')::integer, false))
    AND (operator_limits -> 'tokensPerMinuteMax' IS NULL
      OR coalesce(tokens_per_minute_max <= (operator_limits ->> 'tokensPerMinuteMax')::integer, false))
    AND (operator_limits -> 'modelLimits' IS NULL OR model_limits IS NOT NULL));
CREATE CONSTRAINT TRIGGER rate_limit_operator_of_key_is_audited AFTER UPDATE OF operator_limits ON billing.rate_limit
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NOT NULL AND OLD.operator_limits IS DISTINCT FROM NEW.operator_limits)
  EXECUTE FUNCTION billing.demand_audit('key');
CREATE CONSTRAINT TRIGGER rate_limit_operator_of_project_is_audited AFTER UPDATE OF operator_limits ON billing.rate_limit
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NULL AND OLD.operator_limits IS DISTINCT FROM NEW.operator_limits)
  EXECUTE FUNCTION billing.demand_audit('project');
ALTER TABLE billing.budget
  ADD COLUMN set_by text NOT NULL DEFAULT 'operator',
  ADD COLUMN operator_limit numeric(38, 0),
  ADD CONSTRAINT budget_set_by_check CHECK (set_by IN ('operator', 'customer')),
  ADD CONSTRAINT budget_within_operator CHECK (operator_limit IS NULL OR (set_by = 'operator' AND limit_amount <= operator_limit));
CREATE CONSTRAINT TRIGGER budget_operator_is_audited AFTER UPDATE OF set_by, operator_limit ON billing.budget
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.set_by, OLD.operator_limit) IS DISTINCT FROM (NEW.set_by, NEW.operator_limit))
  EXECUTE FUNCTION billing.demand_audit('budget');

-- ==== 20261128071000_webhook_salt
ALTER TABLE billing.webhook ADD COLUMN secret_salt text NOT NULL DEFAULT '';

-- ==== 20261128080500_upstream_proxy
ALTER TABLE catalog.upstream ADD COLUMN proxy text;

-- ==== 20261128081500_upstream_requests
ALTER TABLE catalog.upstream ADD COLUMN path text, ADD COLUMN query jsonb, ADD COLUMN headers jsonb;
ALTER TABLE catalog.route ADD COLUMN capabilities jsonb;

-- ==== 20261128090000_cache_writes
ALTER TABLE catalog.price
  ADD COLUMN cache_write_price bigint,
  ADD COLUMN cache_write_1h_price bigint,
  ADD CONSTRAINT price_cache_write_price_check CHECK (cache_write_price >= 0),
  ADD CONSTRAINT price_cache_write_1h_price_check CHECK (cache_write_1h_price >= 0);
ALTER TABLE catalog.scheduled_price
  ADD COLUMN cache_write_price bigint,
  ADD COLUMN cache_write_1h_price bigint,
  ADD CONSTRAINT scheduled_price_cache_write_price_check CHECK (cache_write_price >= 0),
  ADD CONSTRAINT scheduled_price_cache_write_1h_price_check CHECK (cache_write_1h_price >= 0);
ALTER TABLE billing.hold
  ADD COLUMN cache_write_price bigint,
  ADD COLUMN cache_write_1h_price bigint,
  ADD COLUMN meter_cache_write_tokens integer,
  ADD COLUMN meter_cache_write_1h_tokens integer,
  ADD CONSTRAINT hold_cache_write_price_check CHECK (cache_write_price >= 0),
  ADD CONSTRAINT hold_cache_write_1h_price_check CHECK (cache_write_1h_price >= 0),
  ADD CONSTRAINT hold_meter_cache_writes_not_negative
    CHECK (least(meter_cache_write_tokens, meter_cache_write_1h_tokens) >= 0);
ALTER TABLE billing.settlement
  ADD COLUMN cache_write_price bigint,
  ADD COLUMN cache_write_1h_price bigint,
  ADD COLUMN cache_write_tokens integer,
  ADD COLUMN cache_write_1h_tokens integer,
  ADD CONSTRAINT settlement_cache_writes_within_prompt CHECK (
    coalesce(cache_write_tokens, cache_write_1h_tokens) IS NULL OR least(cache_write_tokens, cache_write_1h_tokens) >= 0
    AND cached_tokens::bigint + coalesce(cache_write_tokens, 0) + coalesce(cache_write_1h_tokens, 0) <= prompt_tokens);
ALTER TABLE billing.late_settlement
  ADD COLUMN cache_write_tokens integer,
  ADD COLUMN cache_write_1h_tokens integer,
  ADD CONSTRAINT late_settlement_cache_writes_within_prompt CHECK (
    coalesce(cache_write_tokens, cache_write_1h_tokens) IS NULL OR least(cache_write_tokens, cache_write_1h_tokens) >= 0
    AND cached_tokens::bigint + coalesce(cache_write_tokens, 0) + coalesce(cache_write_1h_tokens, 0) <= prompt_tokens);
ALTER TABLE billing.usage_hour
  ADD COLUMN cache_write_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN cache_write_1h_tokens bigint NOT NULL DEFAULT 0;
ALTER TABLE billing.usage_day
  ADD COLUMN cache_write_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN cache_write_1h_tokens bigint NOT NULL DEFAULT 0;

-- ==== 20261128090100_cache_writes_checks

-- ==== 20261128092000_attach_older_months

-- ==== 20261128093000_audit_order

-- ==== all of them

ALTER TABLE billing.hold DROP COLUMN meter_source;
ALTER TABLE billing.settlement
  DROP COLUMN usage_source,
  DROP CONSTRAINT settlement_reason_check,
  ADD CONSTRAINT settlement_reason_check CHECK (reason IN ('completed', 'failed', 'client-disconnected', 'released', 'lease-expired'));
ALTER TABLE billing.late_settlement
  DROP COLUMN usage_source,
  DROP CONSTRAINT late_settlement_reason_check,
  ADD CONSTRAINT late_settlement_reason_check CHECK (reason IN ('completed', 'failed', 'client-disconnected', 'released'));
DROP FUNCTION billing.demand_new(uuid[], uuid[]);

-- Constraints that were added beside traffic, and never proven.
DO $$
DECLARE
  relation regclass;
  validations text;
BEGIN
  FOR relation, validations IN
    SELECT conrelid, string_agg(format('VALIDATE CONSTRAINT %I', conname), ', ') FROM pg_constraint
    WHERE NOT convalidated AND connamespace IN ('billing'::regnamespace, 'catalog'::regnamespace) GROUP BY conrelid
  LOOP
    EXECUTE format('ALTER TABLE %s %s', relation, validations);
  END LOOP;
END
$$;

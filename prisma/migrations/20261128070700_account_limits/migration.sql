-- Limits of an account that all its projects share, maxima of its projects and active keys, and who has set a limit or a budget.
--
-- Billing replicas of the version before do not count requests per minute and tokens towards the limits of an account. They count its
-- requests in flight, which are in its own row. Limits and budgets that exist are the operator's.
--
-- NOT VALID: every existing row has the defaults.

ALTER TABLE billing.account
  ADD COLUMN projects_max integer NOT NULL DEFAULT 100,
  ADD COLUMN active_keys_max integer NOT NULL DEFAULT 1000,
  ADD CONSTRAINT account_maxima_above_zero CHECK (projects_max > 0 AND active_keys_max > 0) NOT VALID;

CREATE CONSTRAINT TRIGGER account_maxima_are_audited AFTER UPDATE OF projects_max, active_keys_max ON billing.account
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.projects_max, OLD.active_keys_max) IS DISTINCT FROM (NEW.projects_max, NEW.active_keys_max))
  EXECUTE FUNCTION billing.demand_audit('account');

-- A row without a project has the limits of the whole account, whose id it has.
ALTER TABLE billing.rate_limit
  ALTER COLUMN project_id DROP NOT NULL,
  -- The most that the operator allows, by name of the limit. Null: all limits of the row are the operator's.
  ADD COLUMN operator_limits jsonb,
  DROP CONSTRAINT rate_limit_is_of_its_target,
  ADD CONSTRAINT rate_limit_is_of_its_target CHECK (id = coalesce(key_id, project_id, account_id)
    AND (project_id IS NOT NULL OR key_id IS NULL)) NOT VALID,
  DROP CONSTRAINT rate_limit_of_project_counts_tokens,
  ADD CONSTRAINT rate_limit_of_project_counts_tokens
    CHECK (key_id IS NOT NULL OR project_id IS NULL OR num_nonnulls(requests_per_minute_max, concurrency_max) = 0) NOT VALID,
  -- The account's own row counts its open holds.
  ADD CONSTRAINT rate_limit_of_account_counts_no_holds CHECK (project_id IS NOT NULL OR open_holds = 0) NOT VALID,
  ADD CONSTRAINT rate_limit_within_operator CHECK (
    (operator_limits -> 'requestsPerMinuteMax' IS NULL
      OR coalesce(requests_per_minute_max <= (operator_limits ->> 'requestsPerMinuteMax')::integer, false))
    AND (operator_limits -> 'concurrencyMax' IS NULL
      OR coalesce(concurrency_max <= (operator_limits ->> 'concurrencyMax')::integer, false))
    AND (operator_limits -> 'tokensPerMinuteMax' IS NULL
      OR coalesce(tokens_per_minute_max <= (operator_limits ->> 'tokensPerMinuteMax')::integer, false))
    AND (operator_limits -> 'modelLimits' IS NULL OR model_limits IS NOT NULL)) NOT VALID;

CREATE CONSTRAINT TRIGGER rate_limit_operator_of_key_is_audited AFTER UPDATE OF operator_limits ON billing.rate_limit
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NOT NULL AND OLD.operator_limits IS DISTINCT FROM NEW.operator_limits)
  EXECUTE FUNCTION billing.demand_audit('key');
CREATE CONSTRAINT TRIGGER rate_limit_operator_of_project_is_audited AFTER UPDATE OF operator_limits ON billing.rate_limit
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NULL AND OLD.operator_limits IS DISTINCT FROM NEW.operator_limits)
  EXECUTE FUNCTION billing.demand_audit('project');

-- As before, except that the limits of an account are audited with the account.
CREATE OR REPLACE FUNCTION billing.demand_audit() RETURNS trigger LANGUAGE plpgsql AS $$
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

ALTER TABLE billing.budget
  ADD COLUMN set_by text NOT NULL DEFAULT 'operator',
  -- The operator's limit, where the customer has lowered it. Null: limit_amount.
  ADD COLUMN operator_limit numeric(38, 0),
  ADD CONSTRAINT budget_set_by_check CHECK (set_by IN ('operator', 'customer')) NOT VALID,
  ADD CONSTRAINT budget_within_operator CHECK (operator_limit IS NULL OR (set_by = 'operator' AND limit_amount <= operator_limit)) NOT VALID;

CREATE CONSTRAINT TRIGGER budget_operator_is_audited AFTER UPDATE OF set_by, operator_limit ON billing.budget
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.set_by, OLD.operator_limit) IS DISTINCT FROM (NEW.set_by, NEW.operator_limit))
  EXECUTE FUNCTION billing.demand_audit('budget');

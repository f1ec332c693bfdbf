-- Rate limits of keys beside those of their project, and tokens per minute of projects and keys, decided with the hold.
--
-- Billing replicas of the version before do not count towards them: set the first when they are replaced.
--
-- NOT VALID: every existing row has the defaults, and a scan would hold up every request meanwhile.

CREATE TABLE billing.rate_limit (
  -- Id of the key, or of the project.
  id                      uuid PRIMARY KEY,
  account_id              uuid NOT NULL REFERENCES billing.account (id),
  project_id              uuid NOT NULL REFERENCES billing.project (id),
  -- Null: the limits of the whole project, whose requests per minute and concurrency are in its own row.
  key_id                  uuid REFERENCES billing.api_key (id),
  requests_per_minute_max integer CHECK (requests_per_minute_max > 0),
  concurrency_max         integer CHECK (concurrency_max > 0),
  tokens_per_minute_max   integer CHECK (tokens_per_minute_max > 0),
  open_holds              integer NOT NULL,
  -- As billing.project.request_window; the second counts tokens.
  request_window          json NOT NULL DEFAULT '[]',
  token_window            json NOT NULL DEFAULT '[]',
  CONSTRAINT rate_limit_is_of_its_target CHECK (id = coalesce(key_id, project_id)),
  CONSTRAINT rate_limit_limits_something CHECK (num_nonnulls(requests_per_minute_max, concurrency_max, tokens_per_minute_max) > 0),
  CONSTRAINT rate_limit_of_project_counts_tokens CHECK (key_id IS NOT NULL OR num_nonnulls(requests_per_minute_max, concurrency_max) = 0),
  CONSTRAINT rate_limit_open_holds_not_negative CHECK (open_holds >= 0)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Batches read rate limits only of accounts that have some.
ALTER TABLE billing.account
  ADD COLUMN limit_count integer NOT NULL DEFAULT 0,
  ADD CONSTRAINT account_limit_count_not_negative CHECK (limit_count >= 0) NOT VALID;

-- Tokens that an open hold counts as. Null: it was opened without a limit of tokens per minute.
ALTER TABLE billing.hold
  ADD COLUMN tokens bigint,
  ADD CONSTRAINT hold_tokens_above_zero CHECK (tokens > 0) NOT VALID;

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

-- The audit row is that of the key or the project.
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

-- Limits per minute by model, of a project or a key: patterns of models with their limits, in the row of the other limits.
--
-- Billing replicas of the version before do not count towards them: set the first when they are replaced.
--
-- NOT VALID: no existing row has such a limit.

ALTER TABLE billing.rate_limit
  -- Array of objects: model, a pattern; requestsPerMinuteMax and tokensPerMinuteMax. Null: none.
  ADD COLUMN model_limits jsonb,
  -- By pattern, two windows as request_window: requests and tokens.
  ADD COLUMN model_windows json NOT NULL DEFAULT '{}',
  ADD CONSTRAINT rate_limit_model_limits_check CHECK (jsonb_array_length(model_limits) BETWEEN 1 AND 16
    AND NOT jsonb_path_exists(model_limits, '$[*] ? (!(@.requestsPerMinuteMax > 0 || @.tokensPerMinuteMax > 0))')) NOT VALID,
  ADD CONSTRAINT rate_limit_has_a_limit
    CHECK (num_nonnulls(requests_per_minute_max, concurrency_max, tokens_per_minute_max, model_limits) > 0) NOT VALID,
  DROP CONSTRAINT rate_limit_limits_something;

CREATE TRIGGER rate_limit_of_model_writes_account AFTER UPDATE OF model_limits
  ON billing.rate_limit FOR EACH ROW EXECUTE FUNCTION billing.count_rate_limit();

CREATE CONSTRAINT TRIGGER rate_limit_of_model_of_key_is_audited AFTER UPDATE OF model_limits ON billing.rate_limit
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NOT NULL AND OLD.model_limits IS DISTINCT FROM NEW.model_limits)
  EXECUTE FUNCTION billing.demand_audit('key');
CREATE CONSTRAINT TRIGGER rate_limit_of_model_of_project_is_audited AFTER UPDATE OF model_limits ON billing.rate_limit
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.key_id IS NULL AND OLD.model_limits IS DISTINCT FROM NEW.model_limits)
  EXECUTE FUNCTION billing.demand_audit('project');

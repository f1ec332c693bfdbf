-- What a request came to when its settlement arrived after the reaper had billed its last meter reading (billing.md 2.3). Once: the
-- primary key. It only ever adds to what was billed, and only from what the account has free; the rest is written off.
-- Double entry: plan_cost and topup_cost leave the customer for revenue; writeoff was earned and is never collected.
CREATE TABLE billing.late_settlement (
  hold_id          uuid PRIMARY KEY REFERENCES billing.settlement (hold_id),
  account_id       uuid NOT NULL,
  reason           text NOT NULL CHECK (reason IN ('completed', 'failed', 'client-left', 'released')),
  upstream         text,
  -- Of the settlement, repeated so that a constraint can see them.
  held             bigint NOT NULL,
  billed           bigint NOT NULL CHECK (billed >= 0),
  -- What the request came to within its hold, beyond what was billed.
  due              bigint NOT NULL CHECK (due >= 0),
  plan_cost        bigint NOT NULL CHECK (plan_cost >= 0),
  live_grant_id    uuid,
  topup_cost       bigint NOT NULL CHECK (topup_cost >= 0),
  writeoff         bigint NOT NULL CHECK (writeoff >= 0),
  over             numeric(38, 0) NOT NULL CHECK (over >= 0),
  prompt_tokens    integer NOT NULL CHECK (prompt_tokens >= 0),
  cached_tokens    integer NOT NULL,
  output_tokens    integer NOT NULL CHECK (output_tokens >= 0),
  reasoning_tokens integer NOT NULL CHECK (reasoning_tokens >= 0),
  usage_source     text CHECK (usage_source IN ('reported', 'estimated')),
  settled_at       timestamptz NOT NULL,
  CONSTRAINT late_settlement_within_held CHECK (billed + due <= held),
  CONSTRAINT late_settlement_parts_are_the_due CHECK (plan_cost + topup_cost + writeoff = due),
  CONSTRAINT late_settlement_plan_cost_has_grant CHECK (plan_cost = 0 OR live_grant_id IS NOT NULL),
  CONSTRAINT late_settlement_over_only_when_full CHECK (over = 0 OR billed + due = held),
  CONSTRAINT late_settlement_cached_within_prompt CHECK (cached_tokens BETWEEN 0 AND prompt_tokens)
);

CREATE TRIGGER late_settlement_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.late_settlement
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

-- Plan subscriptions: an account gets a plan grant for each period.
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

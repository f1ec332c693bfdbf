-- The price plan that replaces `price_plan` at a time; null: list prices. Nothing moves it: what is in force is decided by the time of a request.
--
-- NOT VALID: no existing row has one.
ALTER TABLE billing.account
  ADD COLUMN next_price_plan text,
  ADD COLUMN next_price_plan_from timestamptz,
  ADD CONSTRAINT account_next_price_plan_has_a_name CHECK (length(next_price_plan) BETWEEN 1 AND 64) NOT VALID,
  ADD CONSTRAINT account_next_price_plan_has_a_time CHECK (next_price_plan IS NULL OR next_price_plan_from IS NOT NULL) NOT VALID;

CREATE CONSTRAINT TRIGGER account_next_price_plan_is_audited AFTER UPDATE OF next_price_plan, next_price_plan_from ON billing.account
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.next_price_plan, OLD.next_price_plan_from) IS DISTINCT FROM (NEW.next_price_plan, NEW.next_price_plan_from))
  EXECUTE FUNCTION billing.demand_audit('account');

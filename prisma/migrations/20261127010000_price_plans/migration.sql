-- Price plans: prices of the accounts that name them. The catalog has the plans, as it has models and list prices.

-- Percent off the list prices, and prices of single models: a list of objects with the id of a model and its price in pico-USD a token.
CREATE TABLE catalog.price_plan (
  id               text PRIMARY KEY,
  enabled          boolean NOT NULL,
  position         integer NOT NULL,
  discount_percent numeric(5, 2) NOT NULL CONSTRAINT price_plan_discount_is_a_part CHECK (discount_percent BETWEEN 0 AND 100),
  models           jsonb NOT NULL CONSTRAINT price_plan_models_is_a_list CHECK (jsonb_typeof(models) = 'array')
);

CREATE TRIGGER price_plan_is_never_deleted BEFORE DELETE OR TRUNCATE ON catalog.price_plan
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();
CREATE CONSTRAINT TRIGGER price_plan_is_audited AFTER INSERT OR UPDATE OR DELETE ON catalog.price_plan DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.demand_audit();

-- Null: list prices. Gateways keep it with each key of the account.
--
-- NOT VALID: no existing row has a plan.
ALTER TABLE billing.account
  ADD COLUMN price_plan text,
  ADD CONSTRAINT account_price_plan_has_a_name CHECK (length(price_plan) BETWEEN 1 AND 64) NOT VALID;

CREATE CONSTRAINT TRIGGER account_price_plan_is_audited AFTER UPDATE OF price_plan ON billing.account DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.price_plan IS DISTINCT FROM NEW.price_plan) EXECUTE FUNCTION billing.demand_audit('account');

-- The plan whose price the hold has. Null: the list price.
ALTER TABLE billing.hold
  ADD COLUMN price_plan text,
  ADD CONSTRAINT hold_price_plan_has_a_name CHECK (length(price_plan) BETWEEN 1 AND 64) NOT VALID;

-- Copied from the hold.
ALTER TABLE billing.settlement ADD COLUMN price_plan text;

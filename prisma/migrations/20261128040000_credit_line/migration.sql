-- The credit line of an account: how far below zero its top-up balance may go. 0: not at all, as before.
--
-- Replicas of the version before refuse to go below zero. They cannot settle late for an account that is below zero, so give no account a
-- credit line before all replicas have this version.
ALTER TABLE billing.account
  ADD COLUMN credit_line numeric(38, 0) NOT NULL DEFAULT 0,
  ADD CONSTRAINT account_credit_line_not_negative CHECK (credit_line >= 0) NOT VALID,
  DROP CONSTRAINT account_topup_covers_held,
  ADD CONSTRAINT account_topup_covers_held CHECK (0 <= topup_held AND topup_held <= topup + credit_line) NOT VALID;

CREATE CONSTRAINT TRIGGER account_credit_line_is_audited AFTER UPDATE OF credit_line ON billing.account DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.credit_line IS DISTINCT FROM NEW.credit_line) EXECUTE FUNCTION billing.demand_audit('account');

-- The credit line is part of the balance.
CREATE OR REPLACE FUNCTION billing.tell_of_account() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO billing.money_event (account_id, kind, payload) VALUES (NEW.id, TG_ARGV[0], CASE TG_ARGV[0]
    WHEN 'balance-low' THEN jsonb_build_object('balancePicoUsd', (NEW.topup + NEW.plan + NEW.credit_line)::text,
      'lowBalancePicoUsd', NEW.low_balance::text)
    ELSE jsonb_build_object('reason', NEW.status_reason) END);
  RETURN NULL;
END
$$;

DROP TRIGGER account_balance_is_low ON billing.account;
CREATE TRIGGER account_balance_is_low AFTER UPDATE OF topup, plan, low_balance, credit_line ON billing.account FOR EACH ROW
  WHEN (NEW.low_balance IS NOT NULL AND NEW.topup + NEW.plan + NEW.credit_line < NEW.low_balance
    AND (OLD.topup + OLD.plan + OLD.credit_line >= NEW.low_balance OR OLD.low_balance IS DISTINCT FROM NEW.low_balance))
  EXECUTE FUNCTION billing.tell_of_account('balance-low');

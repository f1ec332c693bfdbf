-- Refunds and adjustments: movements like any other, and what statements of account and usage are read by.

-- ---- movements -------------------------------------------------------------------------------------------------------

ALTER TABLE billing.movement
  -- Why, in the words of whoever asked for it.
  ADD COLUMN reason text,
  -- The top-up a refund gives back. Without one it is against all top-ups of the account.
  ADD COLUMN refund_of uuid REFERENCES billing.movement (id),
  DROP CONSTRAINT movement_kind_check,
  DROP CONSTRAINT movement_grant_is_named,
  -- Amounts are never negative, the kind says which way the money goes. An adjustment is a credit or a debit.
  ADD CONSTRAINT movement_kind_check CHECK (kind IN ('topup', 'grant', 'forfeit', 'refund', 'credit', 'debit')),
  ADD CONSTRAINT movement_grant_is_named CHECK ((kind IN ('grant', 'forfeit')) = (grant_id IS NOT NULL)),
  ADD CONSTRAINT movement_moves_something CHECK (amount > 0 OR kind IN ('topup', 'grant', 'forfeit')),
  ADD CONSTRAINT movement_adjustment_has_reason CHECK (reason IS NOT NULL OR kind NOT IN ('credit', 'debit')),
  ADD CONSTRAINT movement_refund_of_is_a_refunds CHECK (refund_of IS NULL OR kind = 'refund');

CREATE INDEX movement_refund_of ON billing.movement (refund_of) WHERE refund_of IS NOT NULL;

-- A statement of account, page by page.
CREATE INDEX movement_account_id_created_at ON billing.movement (account_id, created_at, id);
DROP INDEX billing.movement_account_id;

-- What no CHECK of one row can say: an account never gets back more than it topped up, nor of one top-up more than that. The
-- account is locked first, so that the sums see every refund committed before.
CREATE FUNCTION billing.refuse_excess_refund() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM billing.account WHERE id = NEW.account_id FOR NO KEY UPDATE;
  IF (SELECT sum(CASE kind WHEN 'topup' THEN amount ELSE -amount END) FROM billing.movement
      WHERE account_id = NEW.account_id AND kind IN ('topup', 'refund')) < 0 THEN
    RAISE EXCEPTION 'billing: account % would get back more than it topped up', NEW.account_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'movement_refund_within_topups';
  END IF;
  IF NEW.refund_of IS NOT NULL AND NOT EXISTS (
      SELECT FROM billing.movement t WHERE t.id = NEW.refund_of AND t.account_id = NEW.account_id AND t.kind = 'topup'
        AND t.amount >= (SELECT sum(amount) FROM billing.movement WHERE refund_of = t.id)) THEN
    RAISE EXCEPTION 'billing: refund % is not within its top-up', NEW.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'movement_refund_within_its_topup';
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER movement_refund_within_topups AFTER INSERT ON billing.movement
  FOR EACH ROW WHEN (NEW.kind = 'refund') EXECUTE FUNCTION billing.refuse_excess_refund();

-- ---- usage -----------------------------------------------------------------------------------------------------------

-- Usage of one account over time. Tombstones used nothing.
CREATE INDEX settlement_account_id_settled_at ON billing.settlement (account_id, settled_at) WHERE project_id IS NOT NULL;
CREATE INDEX late_settlement_account_id_settled_at ON billing.late_settlement (account_id, settled_at);

-- ---- accounts --------------------------------------------------------------------------------------------------------

ALTER TABLE billing.account
  -- Why it is frozen.
  ADD COLUMN status_reason text,
  -- Below it, the balance is low and someone is told. Null: nobody is.
  ADD COLUMN low_balance numeric(38, 0),
  ADD CONSTRAINT account_low_balance_above_zero CHECK (low_balance > 0),
  ADD CONSTRAINT account_active_needs_no_reason CHECK (status = 'frozen' OR status_reason IS NULL);

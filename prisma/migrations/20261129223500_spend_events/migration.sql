-- `spend-unusual`: a project spends far more than in its ordinary hours.
ALTER TABLE billing.money_event DROP CONSTRAINT money_event_kind_check;
ALTER TABLE billing.money_event ADD CONSTRAINT money_event_kind_check CHECK (kind IN ('balance-low', 'balance-exhausted', 'budget-threshold',
  'budget-exhausted', 'budget-reset', 'plan-expired', 'key-expiring', 'account-frozen', 'ledger-fault', 'spend-unusual')) NOT VALID;

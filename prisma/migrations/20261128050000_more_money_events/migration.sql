-- Money events of budgets that begin their next window, and of accounts in which the ledger check finds a fault. A replica of the
-- version before does not know them: if it delivers, it keeps them and the later events of the account until it is replaced.
ALTER TABLE billing.money_event
  DROP CONSTRAINT money_event_kind_check,
  ADD CONSTRAINT money_event_kind_check CHECK (kind IN ('balance-low', 'balance-exhausted', 'budget-threshold', 'budget-exhausted',
    'budget-reset', 'plan-expired', 'key-expiring', 'account-frozen', 'ledger-fault')) NOT VALID;

-- The sum is that of the window that is over, the times are those of the one that begins.
CREATE FUNCTION billing.tell_of_reset() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO billing.money_event (account_id, kind, payload) VALUES (NEW.account_id, 'budget-reset',
    jsonb_build_object('budgetId', NEW.id, 'projectId', NEW.project_id, 'keyId', NEW.key_id, 'period', NEW.period,
      'windowStart', to_char(NEW.window_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'resetsAt', to_char(NEW.window_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    || CASE NEW.unit WHEN 'tokens' THEN jsonb_build_object('limitTokens', NEW.limit_amount, 'spentTokens', OLD.spent)
      ELSE jsonb_build_object('limitPicoUsd', NEW.limit_amount::text, 'spentPicoUsd', OLD.spent::text) END);
  RETURN NULL;
END
$$;

-- Batches of requests set no window, except the one that begins the next. Budgets of users and tags have no events. A change of the time zone
-- or of the first day is the operator's: the window that it makes may begin after the old one ended, and is no reset.
CREATE TRIGGER budget_is_reset AFTER UPDATE OF window_start ON billing.budget FOR EACH ROW
  WHEN (NEW.dimension IS NULL AND NEW.window_start >= OLD.window_end
    AND (NEW.time_zone, NEW.start_day) = (OLD.time_zone, OLD.start_day))
  EXECUTE FUNCTION billing.tell_of_reset();

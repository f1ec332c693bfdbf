-- Closed months: the digests of a month's journal rows, and its sums by account, which the ledger check starts from.
--
-- Billing replicas of the version before run on it: they check the whole journal.

-- As in the other journals. Rows from before this migration have the id 0.
ALTER TABLE billing.movement ADD COLUMN transaction_id bigint NOT NULL DEFAULT 0;
ALTER TABLE billing.movement ALTER COLUMN transaction_id SET DEFAULT pg_current_xact_id()::text::bigint;

CREATE TABLE billing.month (
  id        text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  -- Names the rows and the SHA-256 of each file of the month, and the digest of the month before. Its own SHA-256 is the month's digest.
  manifest  text NOT NULL,
  closed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Statement of an account: the sums of the month, and what was there before and after. An account has a row in each month after its first.
CREATE TABLE billing.month_account (
  month         text COLLATE "C" NOT NULL,
  account_id    uuid NOT NULL,
  requests      bigint NOT NULL,
  opening       numeric(38, 0) NOT NULL,
  topups        numeric(38, 0) NOT NULL,
  grants        numeric(38, 0) NOT NULL,
  credits       numeric(38, 0) NOT NULL,
  refunds       numeric(38, 0) NOT NULL,
  debits        numeric(38, 0) NOT NULL,
  forfeited     numeric(38, 0) NOT NULL,
  cost          numeric(38, 0) NOT NULL,
  closing       numeric(38, 0) NOT NULL,
  -- Top-up money in `closing`.
  topup_closing numeric(38, 0) NOT NULL,
  -- All top-ups less all refunds, since the first month.
  refundable    numeric(38, 0) NOT NULL,
  PRIMARY KEY (month, account_id),
  CONSTRAINT month_account_adds_up
    CHECK (closing = opening + topups + grants + credits - refunds - debits - forfeited - cost)
);

-- Grants that may still be charged after the month: what was granted, and what is gone since.
CREATE TABLE billing.month_grant (
  month      text COLLATE "C" NOT NULL,
  grant_id   uuid NOT NULL,
  account_id uuid NOT NULL,
  amount     numeric(38, 0) NOT NULL,
  gone       numeric(38, 0) NOT NULL,
  ended      boolean NOT NULL,
  PRIMARY KEY (month, grant_id, account_id)
);

CREATE TRIGGER month_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.month
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER month_account_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.month_account
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER month_grant_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.month_grant
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

CREATE CONSTRAINT TRIGGER month_is_audited AFTER INSERT ON billing.month DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('month');

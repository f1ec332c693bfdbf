-- The checkpoint of the scheduled ledger check: the sums of the rows that passed, from which the next scheduled check starts. It saves time and
-- proves nothing: a requested check, a full one and the closing of a month read the rows.
--
-- Billing replicas of the version before run on it: they check the whole open month.

CREATE TABLE billing.checkpoint (
  id                integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  -- The last closed month then; empty: none.
  month             text COLLATE "C" NOT NULL,
  -- The sums have all rows of lower transaction ids and no others. All transactions below had ended.
  transaction_end   bigint NOT NULL,
  -- Transaction ids belong to one cluster: in another the checkpoint is not used.
  system_identifier bigint NOT NULL,
  -- Time of the check that read the whole open month.
  made_at           timestamptz NOT NULL,
  -- Rows below the end, those of closed months included.
  settlements       bigint NOT NULL,
  late_settlements  bigint NOT NULL
);

CREATE TABLE billing.checkpoint_account (
  account_id    uuid PRIMARY KEY,
  closing       numeric(38, 0) NOT NULL,
  topup_closing numeric(38, 0) NOT NULL,
  refundable    numeric(38, 0) NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE billing.checkpoint_grant (
  grant_id   uuid NOT NULL,
  account_id uuid NOT NULL,
  amount     numeric(38, 0) NOT NULL,
  gone       numeric(38, 0) NOT NULL,
  PRIMARY KEY (grant_id, account_id)
) WITH (fillfactor = 70);

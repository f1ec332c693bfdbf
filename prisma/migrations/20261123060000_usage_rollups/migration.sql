-- Sums of usage by hour and by day. Billing adds new journal rows to them in slices of transaction ids: every transaction below the oldest
-- running one has ended, so a slice below it is complete, whatever the clocks say. Rows from before this migration have the id 0.

ALTER TABLE billing.settlement ADD COLUMN transaction_id bigint NOT NULL DEFAULT 0;
ALTER TABLE billing.settlement ALTER COLUMN transaction_id SET DEFAULT pg_current_xact_id()::text::bigint;
ALTER TABLE billing.late_settlement ADD COLUMN transaction_id bigint NOT NULL DEFAULT 0;
ALTER TABLE billing.late_settlement ALTER COLUMN transaction_id SET DEFAULT pg_current_xact_id()::text::bigint;

-- `upstream` is '' for requests that reached none. Collation "C": byte order, independent of the locale of the database.
CREATE TABLE billing.usage_hour (
  account_id         uuid NOT NULL,
  hour               timestamptz NOT NULL,
  project_id         uuid NOT NULL,
  key_id             uuid NOT NULL,
  model              text COLLATE "C" NOT NULL,
  upstream           text COLLATE "C" NOT NULL,
  ending             text COLLATE "C" NOT NULL,
  requests           bigint NOT NULL,
  estimated_requests bigint NOT NULL,
  prompt_tokens      bigint NOT NULL,
  cached_tokens      bigint NOT NULL,
  output_tokens      bigint NOT NULL,
  reasoning_tokens   bigint NOT NULL,
  cost               numeric(38, 0) NOT NULL,
  forfeit            numeric(38, 0) NOT NULL,
  -- Time of the newest settlement in this row.
  last_at            timestamptz NOT NULL,
  PRIMARY KEY (account_id, hour, project_id, key_id, model, upstream, ending)
) WITH (fillfactor = 70);

CREATE TABLE billing.usage_day (
  account_id         uuid NOT NULL,
  day                timestamptz NOT NULL,
  project_id         uuid NOT NULL,
  key_id             uuid NOT NULL,
  model              text COLLATE "C" NOT NULL,
  upstream           text COLLATE "C" NOT NULL,
  ending             text COLLATE "C" NOT NULL,
  requests           bigint NOT NULL,
  estimated_requests bigint NOT NULL,
  prompt_tokens      bigint NOT NULL,
  cached_tokens      bigint NOT NULL,
  output_tokens      bigint NOT NULL,
  reasoning_tokens   bigint NOT NULL,
  cost               numeric(38, 0) NOT NULL,
  forfeit            numeric(38, 0) NOT NULL,
  last_at            timestamptz NOT NULL,
  PRIMARY KEY (account_id, day, project_id, key_id, model, upstream, ending)
) WITH (fillfactor = 70);

-- Queries of all accounts.
CREATE INDEX usage_hour_hour ON billing.usage_hour (hour);
CREATE INDEX usage_day_day ON billing.usage_day (day);
-- Last use of a key.
CREATE INDEX usage_day_key_id ON billing.usage_day (key_id, day);

-- The one row whose lock makes the replicas take turns.
CREATE TABLE billing.usage_state (
  id                integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  -- Journal rows with a lower transaction id are in the rollups, all others are not.
  closed_to         bigint NOT NULL DEFAULT 0 CHECK (closed_to >= 0),
  -- Transaction ids belong to one cluster. A database that was dumped and restored into another one is counted anew.
  system_identifier bigint,
  closed_at         timestamptz,
  -- Time of the newest settlement in the rollups.
  newest_at         timestamptz
);

INSERT INTO billing.usage_state (id) VALUES (1);

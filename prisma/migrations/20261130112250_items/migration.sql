-- Items of internal services, such as a page that was crawled. Their holds are those of requests, with units instead of tokens: the most that one
-- may use, and the last reading. Null: the hold is for a request to a model. Each unit costs the price of a request.
ALTER TABLE billing.hold ADD COLUMN quantity_max integer, ADD COLUMN meter_quantity integer;
ALTER TABLE billing.settlement ADD COLUMN quantity integer;
ALTER TABLE billing.late_settlement ADD COLUMN quantity integer;
ALTER TABLE billing.usage_hour ADD COLUMN quantity bigint NOT NULL DEFAULT 0;
ALTER TABLE billing.usage_day ADD COLUMN quantity bigint NOT NULL DEFAULT 0;

-- What a service uses of its ceilings, of all accounts together. A batch locks the row after its accounts. `spent` is what was settled on the
-- day (UTC), less what late settlements gave back. The ceilings are those that the last reserve named; null: none.
CREATE TABLE billing.service_use (
  service        text COLLATE "C" PRIMARY KEY,
  day            timestamptz NOT NULL DEFAULT 'epoch',
  spent          numeric(38, 0) NOT NULL DEFAULT 0,
  held           numeric(38, 0) NOT NULL DEFAULT 0,
  open_holds     integer NOT NULL DEFAULT 0,
  day_max        numeric(38, 0),
  open_holds_max integer,
  CONSTRAINT service_use_held_not_negative CHECK (held >= 0),
  CONSTRAINT service_use_open_holds_not_negative CHECK (open_holds >= 0)
);

-- A row of catalog.model with a unit is an item of a service: `owned_by` is the service. Its price is that of a request. It has no routes.
ALTER TABLE catalog.model ADD COLUMN unit text;

-- Ceilings in pico-USD; null: none.
CREATE TABLE catalog.service (
  id             text PRIMARY KEY,
  enabled        boolean NOT NULL,
  position       integer NOT NULL CHECK (position >= 0),
  hold_max       numeric(38, 0),
  day_max        numeric(38, 0),
  open_holds_max integer
);

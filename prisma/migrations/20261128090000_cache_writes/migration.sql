-- Prices of a token that an upstream writes to its prompt cache, for 5 minutes and for an hour: in pico-USD. Null: the input price; for an
-- hour, the price for 5 minutes.
--
-- NOT VALID: no existing row has one.
ALTER TABLE catalog.price
  ADD COLUMN cache_write_price bigint,
  ADD COLUMN cache_write_1h_price bigint,
  ADD CONSTRAINT price_cache_write_price_check CHECK (cache_write_price >= 0) NOT VALID,
  ADD CONSTRAINT price_cache_write_1h_price_check CHECK (cache_write_1h_price >= 0) NOT VALID;

ALTER TABLE catalog.scheduled_price
  ADD COLUMN cache_write_price bigint,
  ADD COLUMN cache_write_1h_price bigint,
  ADD CONSTRAINT scheduled_price_cache_write_price_check CHECK (cache_write_price >= 0) NOT VALID,
  ADD CONSTRAINT scheduled_price_cache_write_1h_price_check CHECK (cache_write_1h_price >= 0) NOT VALID;

-- Fixed at the reserve, as the other prices. The counts are part of the prompt, but no constraint compares them with it: a replica of the
-- version before replaces the other counts of a reading and leaves these.
ALTER TABLE billing.hold
  ADD COLUMN cache_write_price bigint,
  ADD COLUMN cache_write_1h_price bigint,
  ADD COLUMN meter_cache_write_tokens integer,
  ADD COLUMN meter_cache_write_1h_tokens integer,
  ADD CONSTRAINT hold_cache_write_price_check CHECK (cache_write_price >= 0) NOT VALID,
  ADD CONSTRAINT hold_cache_write_1h_price_check CHECK (cache_write_1h_price >= 0) NOT VALID,
  ADD CONSTRAINT hold_meter_cache_writes_not_negative
    CHECK (least(meter_cache_write_tokens, meter_cache_write_1h_tokens) >= 0) NOT VALID;

-- The prices are copied from the hold. Null counts: none.
ALTER TABLE billing.settlement
  ADD COLUMN cache_write_price bigint,
  ADD COLUMN cache_write_1h_price bigint,
  ADD COLUMN cache_write_tokens integer,
  ADD COLUMN cache_write_1h_tokens integer,
  ADD CONSTRAINT settlement_cache_writes_within_prompt CHECK (
    coalesce(cache_write_tokens, cache_write_1h_tokens) IS NULL OR least(cache_write_tokens, cache_write_1h_tokens) >= 0
    AND cached_tokens::bigint + coalesce(cache_write_tokens, 0) + coalesce(cache_write_1h_tokens, 0) <= prompt_tokens) NOT VALID;

ALTER TABLE billing.late_settlement
  ADD COLUMN cache_write_tokens integer,
  ADD COLUMN cache_write_1h_tokens integer,
  ADD CONSTRAINT late_settlement_cache_writes_within_prompt CHECK (
    coalesce(cache_write_tokens, cache_write_1h_tokens) IS NULL OR least(cache_write_tokens, cache_write_1h_tokens) >= 0
    AND cached_tokens::bigint + coalesce(cache_write_tokens, 0) + coalesce(cache_write_1h_tokens, 0) <= prompt_tokens) NOT VALID;

ALTER TABLE billing.usage_hour
  ADD COLUMN cache_write_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN cache_write_1h_tokens bigint NOT NULL DEFAULT 0;

ALTER TABLE billing.usage_day
  ADD COLUMN cache_write_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN cache_write_1h_tokens bigint NOT NULL DEFAULT 0;

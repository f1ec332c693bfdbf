-- Each count of a usage gets a source of its own. The prompt is reported by the upstream or estimated from its size; the output is
-- reported, counted from the text that was received, or billed at a floor. settled_by is the service that settled.
--
-- The journals take no UPDATE, so rows from before keep usage_source, and mean: reported = both reported, estimated = prompt estimated
-- and output counted. A row has either usage_source or the two new columns. The same holds for readings of open holds, where a service of
-- the version before may still write meter_source: a renewal sets the one and clears the other.
--
-- NOT VALID: no existing row has a value in the new columns, and a scan of the journals would hold up every request meanwhile.

ALTER TABLE billing.hold
  ADD COLUMN meter_prompt_source text,
  ADD COLUMN meter_output_source text,
  ADD CONSTRAINT hold_meter_prompt_source_check CHECK (meter_prompt_source IN ('reported', 'estimated')) NOT VALID,
  ADD CONSTRAINT hold_meter_output_source_check CHECK (meter_output_source IN ('reported', 'counted', 'floor')) NOT VALID,
  ADD CONSTRAINT hold_meter_sources_come_together
    CHECK ((meter_prompt_source IS NULL) = (meter_output_source IS NULL)) NOT VALID;

ALTER TABLE billing.settlement
  ADD COLUMN prompt_source text,
  ADD COLUMN output_source text,
  ADD COLUMN settled_by text,
  ADD CONSTRAINT settlement_prompt_source_check CHECK (prompt_source IN ('reported', 'estimated')) NOT VALID,
  ADD CONSTRAINT settlement_output_source_check CHECK (output_source IN ('reported', 'counted', 'floor')) NOT VALID,
  ADD CONSTRAINT settlement_sources_come_together CHECK ((prompt_source IS NULL) = (output_source IS NULL)) NOT VALID,
  ADD CONSTRAINT settlement_sources_in_one_form CHECK (prompt_source IS NULL OR usage_source IS NULL) NOT VALID,
  ADD CONSTRAINT settlement_settled_by_check CHECK (settled_by IN ('gateway', 'inference-proxy')) NOT VALID;

ALTER TABLE billing.late_settlement
  ADD COLUMN prompt_source text,
  ADD COLUMN output_source text,
  ADD COLUMN settled_by text,
  ADD CONSTRAINT late_settlement_prompt_source_check CHECK (prompt_source IN ('reported', 'estimated')) NOT VALID,
  ADD CONSTRAINT late_settlement_output_source_check CHECK (output_source IN ('reported', 'counted', 'floor')) NOT VALID,
  ADD CONSTRAINT late_settlement_sources_come_together CHECK ((prompt_source IS NULL) = (output_source IS NULL)) NOT VALID,
  ADD CONSTRAINT late_settlement_sources_in_one_form CHECK (prompt_source IS NULL OR usage_source IS NULL) NOT VALID,
  ADD CONSTRAINT late_settlement_settled_by_check CHECK (settled_by IN ('gateway', 'inference-proxy')) NOT VALID;

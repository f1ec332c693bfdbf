-- Steps, tiers and image classes of a price, in the form of the messages. Null: it has none.
ALTER TABLE catalog.price ADD COLUMN rules jsonb;
ALTER TABLE catalog.scheduled_price ADD COLUMN rules jsonb;

-- The tier is the one that the upstream says it served, where the price has tiers. The step is `above` of the last one that the prompt reached.
ALTER TABLE billing.hold ADD COLUMN price_rules jsonb, ADD COLUMN meter_tier text;
ALTER TABLE billing.settlement ADD COLUMN price_rules jsonb, ADD COLUMN tier text, ADD COLUMN price_step integer;
ALTER TABLE billing.late_settlement ADD COLUMN tier text, ADD COLUMN price_step integer;

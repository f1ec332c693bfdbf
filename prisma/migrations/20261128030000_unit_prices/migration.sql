-- Prices of a request and of an image, besides those of tokens: in pico-USD. Null: none.
--
-- NOT VALID: no existing row has one.
ALTER TABLE catalog.price
  ADD COLUMN request_price bigint,
  ADD COLUMN image_price bigint,
  ADD CONSTRAINT price_request_price_check CHECK (request_price > 0) NOT VALID,
  ADD CONSTRAINT price_image_price_check CHECK (image_price > 0) NOT VALID;

ALTER TABLE catalog.scheduled_price
  ADD COLUMN request_price bigint,
  ADD COLUMN image_price bigint,
  ADD CONSTRAINT scheduled_price_request_price_check CHECK (request_price > 0) NOT VALID,
  ADD CONSTRAINT scheduled_price_image_price_check CHECK (image_price > 0) NOT VALID;

-- Fixed at the reserve, as the other prices. `images` are those of the prompt, if they have a price.
ALTER TABLE billing.hold
  ADD COLUMN request_price bigint,
  ADD COLUMN image_price bigint,
  ADD COLUMN images integer,
  ADD CONSTRAINT hold_request_price_check CHECK (request_price >= 0) NOT VALID,
  ADD CONSTRAINT hold_image_price_check CHECK (image_price >= 0) NOT VALID,
  ADD CONSTRAINT hold_images_check CHECK (images IS NULL OR (images >= 0 AND image_price IS NOT NULL)) NOT VALID;

-- Copied from the hold.
ALTER TABLE billing.settlement
  ADD COLUMN request_price bigint,
  ADD COLUMN image_price bigint,
  ADD COLUMN images integer;

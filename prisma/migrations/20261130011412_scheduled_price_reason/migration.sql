-- Why a price was scheduled, in the words of whoever did it.
ALTER TABLE catalog.scheduled_price ADD COLUMN reason text;

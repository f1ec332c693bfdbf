-- Name of a model for people. Null: clients get the id.
ALTER TABLE catalog.model ADD COLUMN display_name text CHECK (length(display_name) BETWEEN 1 AND 200);

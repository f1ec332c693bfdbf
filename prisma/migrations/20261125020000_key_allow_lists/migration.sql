-- Models and client networks that a key may be used for. An empty list allows all.
--
-- Gateways and billing replicas of the version before do not know the lists: set the first when they are replaced.
--
-- NOT VALID: every existing row has the defaults.

ALTER TABLE billing.api_key
  -- Patterns of model ids, in which * stands for any characters.
  ADD COLUMN models   text[] NOT NULL DEFAULT '{}',
  -- Addresses, or networks in CIDR notation.
  ADD COLUMN networks text[] NOT NULL DEFAULT '{}',
  ADD CONSTRAINT api_key_models_in_bounds
    CHECK (cardinality(models) <= 64 AND array_position(models, NULL) IS NULL AND array_position(models, '') IS NULL) NOT VALID,
  ADD CONSTRAINT api_key_networks_in_bounds
    CHECK (cardinality(networks) <= 64 AND array_to_string(networks || ''::text, ' ', '-') ~ '^([0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})? )*$')
    NOT VALID;

-- The dialects an upstream may speak.
ALTER TABLE catalog.upstream DROP CONSTRAINT upstream_kind_check;
ALTER TABLE catalog.upstream ADD CONSTRAINT upstream_kind_check
  CHECK (kind IN ('openai-chat', 'openai-responses', 'anthropic-messages'));

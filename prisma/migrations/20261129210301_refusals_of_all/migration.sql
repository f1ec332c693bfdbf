-- online
-- The refused requests of all accounts, newest first.
CREATE INDEX CONCURRENTLY IF NOT EXISTS request_refused ON activity.request (received_at DESC, request_id DESC)
  WHERE (details -> 'outcome') IS NULL AND (details -> 'holdId') IS NULL;

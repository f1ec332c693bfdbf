-- online
-- The refused requests of an account, newest first. A request with a hold is billing's to list.
CREATE INDEX CONCURRENTLY IF NOT EXISTS request_refused_of_account ON activity.request (account_id, received_at DESC, request_id DESC)
  WHERE (details -> 'outcome') IS NULL AND (details -> 'holdId') IS NULL;

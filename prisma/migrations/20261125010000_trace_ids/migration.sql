-- The trace id of a request: 16 bytes, as many as a uuid has. It comes with the reserve, so that a request that only the reaper settles has
-- it too. Null: the request had no trace.

ALTER TABLE billing.hold ADD COLUMN trace_id uuid;

ALTER TABLE billing.settlement ADD COLUMN trace_id uuid;

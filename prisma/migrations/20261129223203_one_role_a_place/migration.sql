-- online
-- One role of a person in a place: a project, an account or the platform. No project has the id of an account.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS grant_user_id_place ON panel.grant
  (user_id, (coalesce(project_id, account_id, '00000000-0000-0000-0000-000000000000')));

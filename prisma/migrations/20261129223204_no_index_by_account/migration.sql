-- online
DROP INDEX CONCURRENTLY IF EXISTS panel.grant_user_id_account_id;

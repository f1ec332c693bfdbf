-- A role may be one of a single project, whose account is `account_id`. Null: of the whole account, or of the platform. The roles of a project
-- have names of their own: a version that does not know the column reads no permission from them.
ALTER TABLE panel."grant" ADD COLUMN project_id uuid;
ALTER TABLE panel."grant" DROP CONSTRAINT grant_role_fits_scope;
ALTER TABLE panel."grant" ADD CONSTRAINT grant_role_fits_scope CHECK (CASE
  WHEN account_id IS NULL THEN project_id IS NULL AND role IN ('admin', 'auditor')
  WHEN project_id IS NULL THEN role IN ('owner', 'finance', 'developer', 'viewer')
  ELSE role IN ('project-developer', 'project-member', 'project-viewer') END) NOT VALID;

ALTER TABLE panel.invite ADD COLUMN project_id uuid;
ALTER TABLE panel.invite DROP CONSTRAINT invite_role_fits_scope;
ALTER TABLE panel.invite ADD CONSTRAINT invite_role_fits_scope CHECK (CASE
  WHEN account_id IS NULL THEN project_id IS NULL AND role IN ('admin', 'auditor')
  WHEN project_id IS NULL THEN role IN ('owner', 'finance', 'developer', 'viewer')
  ELSE role IN ('project-developer', 'project-member', 'project-viewer') END) NOT VALID;

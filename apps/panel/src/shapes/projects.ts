import type { Project, ProjectCreateRequest, ProjectListReply, ProjectUpdateRequest } from '#contracts/billing/projects.js';

/** `GET /accounts/{a}/projects?limit&cursor`, oldest first. */
export type { Project, ProjectListReply };

/** `POST /accounts/{a}/projects`. Replies `Project`. */
export type ProjectCreateBody = Omit<ProjectCreateRequest, 'accountId'>;

/** `PATCH /projects/{projectId}`. Replies `Project`. Changing the limits needs the permission `accounts`. */
export type ProjectUpdateBody = Omit<ProjectUpdateRequest, 'projectId'>;

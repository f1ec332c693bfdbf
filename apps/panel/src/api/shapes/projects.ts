import type { Project, ProjectListReply } from '#contracts/billing/projects.js';

/** `GET /accounts/{a}/projects?limit&cursor`, oldest first. */
export type { Project, ProjectListReply };

/** `POST /accounts/{a}/projects`. Replies `Project`. */
export interface ProjectCreateBody {
  /** Repeating it with the same id makes one project. Default: a new id. */
  projectId?: string;
  name: string;
  requestsPerMinuteMax?: number;
  concurrencyMax?: number;
}

/** `PATCH /projects/{projectId}`. Replies `Project`. */
export interface ProjectUpdateBody {
  name?: string;
  enabled?: boolean;
  requestsPerMinuteMax?: number;
  concurrencyMax?: number;
}

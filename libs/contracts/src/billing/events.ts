import { Topic } from '../endpoint.js';

/** Keys whose cached resolution must be forgotten: one key, or every key of a project. */
export const keyChanged = new Topic<{ keyId?: string; projectId: string }>(
  'billing.v1.event.key-changed',
  'A key was revoked or its project changed',
);

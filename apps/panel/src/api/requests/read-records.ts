import type { Activity } from '../../activity/activity.js';
import type { Access } from '../../permissions/permissions.js';
import { visibleActivity } from '../visible-activity.js';
import type { Records } from './list-requests.js';

/** Returns what reads the panel's records of requests for a caller. `reader`: whose share of reads it counts in. */
export function readRecords(activity: Activity, access: Access, reader: string): Records {
  return {
    find: (requestIds) => activity.find(requestIds, reader),
    refusals: async (...asked) => {
      const { refusals, next } = await activity.refusals(...asked, reader);
      return { refusals: refusals.map((one) => ({ ...visibleActivity(access, one), accountId: one.accountId })), next };
    },
  };
}

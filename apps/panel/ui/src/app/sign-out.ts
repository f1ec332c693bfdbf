import { callOnce } from '../data/api.js';

/** Ends the session on the server and loads the panel anew, so that nothing of the person stays in memory. */
export async function signOut(): Promise<void> {
  await callOnce('DELETE', '/session').catch(() => undefined);
  location.assign(import.meta.env.BASE_URL);
}

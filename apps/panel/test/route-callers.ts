import type { Role } from '../src/api/shapes/identity.js';
import type { RouteName } from '../src/http/routes.js';

/**
 * Roles that pass the guards of each route; the roles of an account in their own account. A new route needs a row. `anyone` needs no
 * credentials, `person` is every signed-in person, whatever their roles.
 */
export const ROUTE_CALLERS: Record<RouteName, 'anyone' | 'person' | readonly Role[]> = {
  signIn: 'anyone',
  showInvite: 'anyone',
  acceptInvite: 'anyone',
  showSession: 'person',
  signOut: 'person',
  confirmSession: 'person',
  listSessions: 'person',
  endSessions: 'person',
  endSession: 'person',
  showMe: 'person',
  updateMe: 'person',
  listMembers: ['admin', 'auditor', 'owner'],
  updateMember: ['admin', 'owner'],
  removeMember: ['admin', 'owner'],
  listInvites: ['admin', 'auditor', 'owner'],
  createInvite: ['admin', 'owner'],
  withdrawInvite: ['admin', 'owner'],
  listTokens: ['admin', 'owner'],
  createToken: ['admin', 'owner'],
  revokeToken: ['admin', 'owner'],
};

/** Routes that need a password in the last 10 minutes: they move money, change the catalog, or give rights. */
export const CONFIRMED_ROUTES: readonly RouteName[] = [
  ...(['updateMember', 'removeMember', 'createInvite', 'withdrawInvite', 'createToken', 'revokeToken'] as const),
];

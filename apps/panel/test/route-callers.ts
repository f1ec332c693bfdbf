import type { Role } from '../src/api/shapes/identity.js';
import type { RouteName } from '../src/http/routes.js';

const EVERY_ROLE: readonly Role[] = ['admin', 'auditor', 'owner', 'finance', 'developer', 'viewer'];

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
  listAccounts: EVERY_ROLE,
  createAccount: ['admin'],
  updateAccount: ['admin'],
  showOverview: EVERY_ROLE,
  queryUsage: EVERY_ROLE,
  downloadUsage: EVERY_ROLE,
  listRequests: EVERY_ROLE,
  downloadRequests: EVERY_ROLE,
  showRequest: EVERY_ROLE,
  listProjects: EVERY_ROLE,
  createProject: ['admin', 'owner', 'developer'],
  updateProject: ['admin', 'owner', 'developer'],
  listKeys: EVERY_ROLE,
  listProjectKeys: EVERY_ROLE,
  createKey: ['admin', 'owner', 'developer'],
  updateKey: ['admin', 'owner', 'developer'],
  rotateKey: ['admin', 'owner', 'developer'],
  revokeKey: ['admin', 'owner', 'developer'],
  listMovements: ['admin', 'auditor', 'owner', 'finance'],
  showStatement: ['admin', 'auditor', 'owner', 'finance'],
  downloadStatement: ['admin', 'auditor', 'owner', 'finance'],
  createTopup: ['admin'],
  createRefund: ['admin'],
  createAdjustment: ['admin'],
  createGrant: ['admin'],
  listModels: EVERY_ROLE,
  applyCatalog: ['admin'],
  listUpstreams: ['admin', 'auditor'],
  listLedgerChecks: ['admin', 'auditor'],
  checkLedger: ['admin'],
  listAudit: ['admin', 'auditor', 'owner'],
  downloadAudit: ['admin', 'auditor', 'owner'],
};

/** Routes that need a password in the last 10 minutes: they move money, change the catalog, or give rights. */
export const CONFIRMED_ROUTES: readonly RouteName[] = [
  ...(['updateMember', 'removeMember', 'createInvite', 'withdrawInvite', 'createToken', 'revokeToken'] as const),
  ...(['createTopup', 'createRefund', 'createAdjustment', 'createGrant', 'applyCatalog'] as const),
];

import type { Permission } from '../shapes/identity.js';

/** All endpoints are below it. */
export const API_PREFIX = '/panel/v1';

/**
 * An endpoint. `@Handles` binds a method of a controller to it, the guards enforce it, and the test matrix and the OpenAPI document are
 * made of it.
 */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Path below `API_PREFIX`. */
  path: string;
  /** The permission it needs; `own` for a signed-in person, whatever their roles; `public` for callers without credentials. */
  access: Permission | 'own' | 'public';
  /**
   * The scope in which the permission must be held. `account`, the default of a path with `:accountId`: in that account, or on the whole
   * platform for the id `all`. `platform`: on the whole platform. `any`: anywhere; the handler narrows the reply with
   * `access.accountsWith` or calls `access.require` with the row's account.
   */
  scope?: 'account' | 'platform' | 'any';
  /** True when a person must have signed in or confirmed within 10 minutes. Does not apply to tokens. */
  confirmed?: true;
  /** True for a route whose body proves who the person is, as those of public routes do: it has memory of its own. */
  isProof?: true;
  /** True for an address to which another site sends the browser. Its pages may cause the request, so the request must prove itself. */
  fromOtherSites?: true;
  /** True for reads that may take long. A person has few of them at once. */
  readsJournal?: true;
  /** Status of a success. Default: 200. */
  status?: 201 | 204 | 303;
  summary: string;
}

/** All endpoints. Paths match exactly, except for a trailing slash. */
export const ROUTES = {
  // ---- sessions and people ----
  signIn: { method: 'POST', path: '/session', access: 'public', status: 201, summary: 'Signs in with e-mail and password' },
  showSession: { method: 'GET', path: '/session', access: 'own', summary: 'The session of the cookie' },
  signOut: { method: 'DELETE', path: '/session', access: 'own', status: 204, summary: 'Ends the session of the cookie' },
  confirmSession: {
    method: 'POST',
    path: '/session/confirm',
    access: 'own',
    isProof: true,
    summary: 'Confirms the session with the password',
  },
  listSessions: { method: 'GET', path: '/sessions', access: 'own', summary: 'Sessions of the signed-in person' },
  endSessions: { method: 'DELETE', path: '/sessions', access: 'own', status: 204, summary: 'Ends all other sessions of the person' },
  endSession: { method: 'DELETE', path: '/sessions/:sessionId', access: 'own', status: 204, summary: 'Ends one session of the person' },
  showMe: { method: 'GET', path: '/me', access: 'own', summary: 'The signed-in person, with their roles and permissions' },
  updateMe: { method: 'PATCH', path: '/me', access: 'own', summary: 'Changes the name or the password' },
  listMembers: { method: 'GET', path: '/members', access: 'members.read', scope: 'any', summary: 'People and their roles' },
  updateMember: {
    method: 'PATCH',
    path: '/members/:userId',
    access: 'members',
    scope: 'any',
    confirmed: true,
    summary: 'Changes a role; disables a person',
  },
  removeMember: {
    method: 'DELETE',
    path: '/members/:userId',
    access: 'members',
    scope: 'any',
    confirmed: true,
    status: 204,
    summary: 'Takes a role from a person',
  },
  listInvites: { method: 'GET', path: '/invites', access: 'members.read', scope: 'any', summary: 'Open invites' },
  createInvite: {
    method: 'POST',
    path: '/invites',
    access: 'members',
    scope: 'any',
    confirmed: true,
    status: 201,
    summary: 'Makes a one-time link that gives a role',
  },
  withdrawInvite: {
    method: 'DELETE',
    path: '/invites/:inviteId',
    access: 'members',
    scope: 'any',
    confirmed: true,
    status: 204,
    summary: 'Ends an open invite',
  },
  showInvite: { method: 'POST', path: '/invites/show', access: 'public', summary: 'The invite of a link' },
  acceptInvite: { method: 'POST', path: '/invites/accept', access: 'public', status: 201, summary: 'Accepts an invite and signs in' },
  showSignInWays: { method: 'GET', path: '/sso', access: 'public', summary: 'The ways to sign in: passwords and providers' },
  startSso: {
    method: 'GET',
    path: '/sso/:provider/start',
    access: 'public',
    status: 303,
    summary: 'Leads the browser to a provider of OpenID Connect',
  },
  finishSso: {
    method: 'GET',
    path: '/sso/:provider/callback',
    access: 'public',
    fromOtherSites: true,
    status: 303,
    summary: 'Signs in the person whom a provider sends back',
  },
  listTokens: { method: 'GET', path: '/tokens', access: 'tokens', scope: 'any', summary: 'Tokens of programs' },
  createToken: {
    method: 'POST',
    path: '/tokens',
    access: 'tokens',
    scope: 'any',
    confirmed: true,
    status: 201,
    summary: 'Makes a token, which is shown once',
  },
  revokeToken: {
    method: 'DELETE',
    path: '/tokens/:tokenId',
    access: 'tokens',
    scope: 'any',
    confirmed: true,
    summary: 'Revokes a token',
  },
  // ---- resources ----
  listAccounts: { method: 'GET', path: '/accounts', access: 'usage.read', scope: 'any', summary: 'Accounts that the caller may see' },
  createAccount: { method: 'POST', path: '/accounts', access: 'accounts', status: 201, summary: 'Opens an account' },
  updateAccount: {
    method: 'PATCH',
    path: '/accounts/:accountId',
    access: 'accounts',
    confirmed: true,
    summary: 'Changes, freezes or frees an account, or sets its credit line',
  },
  showOverview: {
    method: 'GET',
    path: '/accounts/:accountId/overview',
    access: 'usage.read',
    readsJournal: true,
    summary: 'The figures of the first page',
  },
  queryUsage: {
    method: 'GET',
    path: '/accounts/:accountId/usage',
    access: 'usage.read',
    readsJournal: true,
    summary: 'Requests, tokens and costs',
  },
  downloadUsage: {
    method: 'GET',
    path: '/accounts/:accountId/usage.csv',
    access: 'usage.read',
    summary: 'The same as a file',
  },
  listRequests: {
    method: 'GET',
    path: '/accounts/:accountId/requests',
    access: 'requests.read',
    readsJournal: true,
    summary: 'Requests, newest first',
  },
  downloadRequests: {
    method: 'GET',
    path: '/accounts/:accountId/requests.csv',
    access: 'requests.read',
    summary: 'The same as a file',
  },
  showRequest: {
    method: 'GET',
    path: '/requests/:requestId',
    access: 'requests.read',
    scope: 'any',
    readsJournal: true,
    summary: 'What one request held, used and cost',
  },
  showRequestActivity: {
    method: 'GET',
    path: '/requests/:requestId/activity',
    access: 'requests.read',
    scope: 'any',
    readsJournal: true,
    summary: 'Times, calls of upstreams and outcome of one request, also of a refused one',
  },
  showLive: { method: 'GET', path: '/accounts/:accountId/live', access: 'requests.read', summary: 'Requests as they end, as events' },
  queryTraffic: {
    method: 'GET',
    path: '/accounts/:accountId/traffic',
    access: 'usage.read',
    readsJournal: true,
    summary: 'Requests by outcome, and percentiles of their times',
  },
  listProjects: { method: 'GET', path: '/accounts/:accountId/projects', access: 'usage.read', summary: 'Projects, oldest first' },
  createProject: { method: 'POST', path: '/accounts/:accountId/projects', access: 'projects', status: 201, summary: 'Adds a project' },
  updateProject: {
    method: 'PATCH',
    path: '/projects/:projectId',
    access: 'projects',
    scope: 'any',
    summary: 'Changes name, state or limits; limits need the permission accounts',
  },
  listKeys: { method: 'GET', path: '/accounts/:accountId/keys', access: 'usage.read', summary: 'API keys of an account, oldest first' },
  listProjectKeys: {
    method: 'GET',
    path: '/projects/:projectId/keys',
    access: 'usage.read',
    scope: 'any',
    summary: 'API keys of a project, oldest first',
  },
  createKey: {
    method: 'POST',
    path: '/projects/:projectId/keys',
    access: 'keys',
    scope: 'any',
    status: 201,
    summary: 'Makes an API key, which is shown once',
  },
  updateKey: {
    method: 'PATCH',
    path: '/keys/:keyId',
    access: 'keys',
    scope: 'any',
    summary: 'Changes name, note, end or state of an API key',
  },
  rotateKey: {
    method: 'POST',
    path: '/keys/:keyId/rotate',
    access: 'keys',
    scope: 'any',
    status: 201,
    summary: 'Replaces an API key by a new one, which is shown once; the old one ends after a grace',
  },
  revokeKey: { method: 'DELETE', path: '/keys/:keyId', access: 'keys', scope: 'any', summary: 'Revokes an API key permanently' },
  runPlayground: {
    method: 'POST',
    path: '/playground',
    access: 'playground',
    scope: 'any',
    summary: 'Sends a request to a model and streams the reply',
  },
  listBudgets: {
    method: 'GET',
    path: '/accounts/:accountId/budgets',
    access: 'usage.read',
    summary: 'Budgets of an account, its projects and its keys, with what is spent and held of each',
  },
  createBudget: {
    method: 'POST',
    path: '/accounts/:accountId/budgets',
    access: 'budgets',
    status: 201,
    summary: 'Makes a budget of the account, a project or a key for a period; 409 when there is one',
  },
  setBudget: {
    method: 'PUT',
    path: '/accounts/:accountId/budgets',
    access: 'budgets',
    summary: 'Sets the budget of the account, a project or a key for a period, or changes its limit',
  },
  removeBudget: {
    method: 'DELETE',
    path: '/accounts/:accountId/budgets/:budgetId',
    access: 'budgets',
    summary: 'Removes a budget; running requests are not affected',
  },
  listMovements: {
    method: 'GET',
    path: '/accounts/:accountId/movements',
    access: 'money.read',
    readsJournal: true,
    summary: 'Movements of money besides requests, newest first',
  },
  downloadStatement: {
    method: 'GET',
    path: '/accounts/:accountId/statements/:month.csv',
    access: 'money.read',
    summary: 'The same as a file',
  },
  showStatement: {
    method: 'GET',
    path: '/accounts/:accountId/statements/:month',
    access: 'money.read',
    readsJournal: true,
    summary: 'Statement of a month',
  },
  createTopup: {
    method: 'POST',
    path: '/accounts/:accountId/topups',
    access: 'money.write',
    confirmed: true,
    summary: 'Credits a payment, once',
  },
  createRefund: {
    method: 'POST',
    path: '/accounts/:accountId/refunds',
    access: 'money.write',
    confirmed: true,
    summary: 'Takes a top-up back, in whole or in part, once',
  },
  createAdjustment: {
    method: 'POST',
    path: '/accounts/:accountId/adjustments',
    access: 'money.write',
    confirmed: true,
    summary: 'Corrects the top-up balance, up or down, once',
  },
  createGrant: {
    method: 'POST',
    path: '/accounts/:accountId/grants',
    access: 'money.write',
    confirmed: true,
    summary: 'Replaces the plan balance, once',
  },
  listModels: { method: 'GET', path: '/models', access: 'models.read', scope: 'any', summary: 'Models with capabilities and prices' },
  showCatalog: { method: 'GET', path: '/catalog', access: 'catalog.read', summary: 'Text and author of a revision of the catalog' },
  listRevisions: { method: 'GET', path: '/catalog/revisions', access: 'catalog.read', summary: 'Revisions of the catalog, newest first' },
  planCatalog: {
    method: 'POST',
    path: '/catalog/plan',
    access: 'catalog',
    summary: 'Faults of a catalog, or the changes that it would make',
  },
  applyCatalog: { method: 'POST', path: '/catalog/apply', access: 'catalog', confirmed: true, summary: 'Replaces the catalog by a file' },
  listScheduledPrices: { method: 'GET', path: '/prices/scheduled', access: 'catalog.read', summary: 'Prices that wait for their time' },
  schedulePrice: {
    method: 'POST',
    path: '/prices/scheduled',
    access: 'catalog',
    confirmed: true,
    status: 201,
    summary: 'Schedules a price of a model',
  },
  cancelScheduledPrice: {
    method: 'DELETE',
    path: '/prices/scheduled/:scheduledPriceId',
    access: 'catalog',
    confirmed: true,
    summary: 'Cancels a scheduled price before its time',
  },
  listUpstreams: { method: 'GET', path: '/upstreams', access: 'upstreams.read', summary: 'Routes to upstreams, as each replica sees them' },
  testUpstream: {
    method: 'POST',
    path: '/upstreams/:upstreamId/test',
    access: 'upstreams',
    summary: 'Tests what an upstream of the catalog supports, check by check',
  },
  listLedgerChecks: {
    method: 'GET',
    path: '/ledger/checks',
    access: 'ledger.read',
    readsJournal: true,
    summary: 'Last reports of the ledger check, and frozen accounts',
  },
  checkLedger: { method: 'POST', path: '/ledger/checks', access: 'ledger', summary: 'Checks the ledger now' },
  checkJournals: {
    method: 'GET',
    path: '/ledger/journals',
    access: 'ledger.read',
    readsJournal: true,
    summary: 'Checks the journals of catalog and panel now',
  },
  listAudit: {
    method: 'GET',
    path: '/audit',
    access: 'audit.read',
    scope: 'any',
    readsJournal: true,
    summary: 'Changes and sign-ins, newest first',
  },
  downloadAudit: {
    method: 'GET',
    path: '/audit.csv',
    access: 'audit.read',
    scope: 'any',
    summary: 'The same as a file',
  },
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof ROUTES;

export function findRoute(name: RouteName): Route {
  return ROUTES[name];
}

/** Returns where the permission of a route must be held. */
export function findScope({ scope, path }: Route): 'account' | 'platform' | 'any' {
  return scope ?? (path.includes(':accountId') ? 'account' : 'platform');
}

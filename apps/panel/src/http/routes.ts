import type { Permission } from '../shapes/identity.js';

/** All endpoints are below it. */
export const API_PREFIX = '/panel/v1';

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/**
 * An endpoint. `@Handles` binds a method of a controller to it, the guards enforce it, and the test matrix and the OpenAPI document are
 * made of it.
 */
export interface Route {
  method: Method;
  /** Path below `API_PREFIX`. */
  path: string;
  /** The permission it needs; `own` for a signed-in person, whatever their roles; `public` for callers without credentials. */
  access: Permission | 'own' | 'public';
  summary: string;
  /**
   * The place in which the permission must be held. `account`, the default of a path with `:accountId`: in that whole account, or on the
   * platform for the id `all`. `project`: as `account`, or in the project of the account that the query names with `projectId`, by which the
   * handler narrows the reply. `platform`: on the whole platform. `any`: anywhere; the handler narrows the reply with `access.accountsWith`
   * and `access.projectsWith`, or calls `access.require` with the place of the row.
   */
  scope?: 'account' | 'project' | 'platform' | 'any';
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
}

/** All endpoints. Paths match exactly, except for a trailing slash. */
export const ROUTES = {
  // ---- sessions and people ----
  signIn: route('POST /session', 'public', 'Signs in with e-mail and password', { status: 201 }),
  showSession: route('GET /session', 'own', 'The session of the cookie'),
  signOut: route('DELETE /session', 'own', 'Ends the session of the cookie', { status: 204 }),
  confirmSession: route('POST /session/confirm', 'own', 'Confirms the session with the password', { isProof: true }),
  listSessions: route('GET /sessions', 'own', 'Sessions of the signed-in person'),
  endSessions: route('DELETE /sessions', 'own', 'Ends all other sessions of the person', { status: 204 }),
  endSession: route('DELETE /sessions/:sessionId', 'own', 'Ends one session of the person', { status: 204 }),
  showMe: route('GET /me', 'own', 'The signed-in person, with their roles and permissions'),
  updateMe: route('PATCH /me', 'own', 'Changes the name or the password'),
  listSecondFactors: route('GET /me/second-factors', 'own', 'What the person shows beside the password'),
  makeAppSecret: route('POST /me/second-factors/app', 'own', 'Makes a secret for an authenticator app', { confirmed: true }),
  makePasskeyOptions: route('POST /me/second-factors/passkey', 'own', 'What the browser needs to make a passkey', { confirmed: true }),
  addSecondFactor: route('POST /me/second-factors', 'own', 'Adds an app or a passkey that has proved itself', {
    confirmed: true,
    status: 201,
  }),
  removeSecondFactor: route('DELETE /me/second-factors/:factorId', 'own', 'Removes an app or a passkey', { confirmed: true, status: 204 }),
  makeRecoveryCodes: route('POST /me/recovery-codes', 'own', 'Makes new recovery codes, which are shown once', {
    confirmed: true,
    status: 201,
  }),
  listMembers: route('GET /members', 'members.read', 'People and their roles', { scope: 'any' }),
  updateMember: route('PATCH /members/:userId', 'members', 'Changes a role; disables a person', { scope: 'any', confirmed: true }),
  removeMember: route('DELETE /members/:userId', 'members', 'Takes a role from a person', { scope: 'any', confirmed: true, status: 204 }),
  listInvites: route('GET /invites', 'members.read', 'Open invites', { scope: 'any' }),
  createInvite: route('POST /invites', 'members', 'Makes a one-time link that gives a role', {
    scope: 'any',
    confirmed: true,
    status: 201,
  }),
  withdrawInvite: route('DELETE /invites/:inviteId', 'members', 'Ends an open invite', { scope: 'any', confirmed: true, status: 204 }),
  showInvite: route('POST /invites/show', 'public', 'The invite of a link'),
  acceptInvite: route('POST /invites/accept', 'public', 'Accepts an invite and signs in', { status: 201 }),
  showSignInWays: route('GET /sso', 'public', 'The ways to sign in: passwords and providers'),
  startSso: route('GET /sso/:provider/start', 'public', 'Leads the browser to a provider of OpenID Connect', { status: 303 }),
  finishSso: route('GET /sso/:provider/callback', 'public', 'Signs in the person whom a provider sends back', {
    fromOtherSites: true,
    status: 303,
  }),
  listTokens: route('GET /tokens', 'tokens', 'Tokens of programs', { scope: 'any' }),
  createToken: route('POST /tokens', 'tokens', 'Makes a token, which is shown once', { scope: 'any', confirmed: true, status: 201 }),
  revokeToken: route('DELETE /tokens/:tokenId', 'tokens', 'Revokes a token', { scope: 'any', confirmed: true }),
  // ---- resources ----
  listAccounts: route('GET /accounts', 'usage.read', 'Accounts that the caller may see, and projects of others', { scope: 'any' }),
  createAccount: route('POST /accounts', 'accounts', 'Opens an account', { status: 201 }),
  updateAccount: route('PATCH /accounts/:accountId', 'accounts', 'Changes, freezes or frees an account, or sets its credit line', {
    confirmed: true,
  }),
  showOverview: route('GET /accounts/:accountId/overview', 'usage.read', 'The figures of the first page', {
    scope: 'project',
    readsJournal: true,
  }),
  queryUsage: route('GET /accounts/:accountId/usage', 'usage.read', 'Requests, tokens and costs', { scope: 'project', readsJournal: true }),
  downloadUsage: route('GET /accounts/:accountId/usage.csv', 'usage.read', 'The same as a file', { scope: 'project' }),
  listRequests: route('GET /accounts/:accountId/requests', 'requests.read', 'Requests, newest first', {
    scope: 'project',
    readsJournal: true,
  }),
  downloadRequests: route('GET /accounts/:accountId/requests.csv', 'requests.read', 'The same as a file', { scope: 'project' }),
  showRequest: route('GET /requests/:requestId', 'requests.read', 'What one request held, used and cost', {
    scope: 'any',
    readsJournal: true,
  }),
  showRequestActivity: route(
    'GET /requests/:requestId/activity',
    'requests.read',
    'Times, calls of upstreams and outcome of one request, also of a refused one',
    { scope: 'any', readsJournal: true },
  ),
  downloadReceipt: route('GET /requests/:requestId/receipt', 'money.read', 'Receipt of one request, once its month is closed', {
    scope: 'any',
    readsJournal: true,
  }),
  showLive: route('GET /accounts/:accountId/live', 'requests.read', 'Requests as they end, as events', { scope: 'project' }),
  queryTraffic: route('GET /accounts/:accountId/traffic', 'usage.read', 'Requests by outcome, and percentiles of their times', {
    scope: 'project',
    readsJournal: true,
  }),
  listProjects: route('GET /accounts/:accountId/projects', 'usage.read', 'Projects that the caller may see, oldest first', {
    scope: 'any',
  }),
  showProject: route('GET /projects/:projectId', 'usage.read', 'A project with its month so far, budgets, keys and last requests', {
    scope: 'any',
    readsJournal: true,
  }),
  createProject: route('POST /accounts/:accountId/projects', 'projects', 'Adds a project', { status: 201 }),
  updateProject: route('PATCH /projects/:projectId', 'projects', 'Changes name, state or limits; limits need the permission accounts', {
    scope: 'any',
  }),
  listKeys: route('GET /accounts/:accountId/keys', 'usage.read', 'API keys of an account, oldest first', { scope: 'project' }),
  listProjectKeys: route('GET /projects/:projectId/keys', 'usage.read', 'API keys of a project, oldest first', { scope: 'any' }),
  createKey: route('POST /projects/:projectId/keys', 'keys', 'Makes an API key, which is shown once', { scope: 'any', status: 201 }),
  updateKey: route('PATCH /keys/:keyId', 'keys', 'Changes name, note, end or state of an API key', { scope: 'any' }),
  rotateKey: route(
    'POST /keys/:keyId/rotate',
    'keys',
    'Replaces an API key by a new one, which is shown once; the old one ends after a grace',
    { scope: 'any', status: 201 },
  ),
  revokeKey: route('DELETE /keys/:keyId', 'keys', 'Revokes an API key permanently', { scope: 'any' }),
  listChildKeys: route(
    'GET /keys/:keyId/children',
    'usage.read',
    'Child keys of an API key that have not ended, with what each has spent of its limit',
    { scope: 'any', readsJournal: true },
  ),
  createChildKey: route('POST /keys/:keyId/children', 'keys', 'Makes a child key of an API key, which is shown once', {
    scope: 'any',
    status: 201,
  }),
  revokeChildKey: route('DELETE /keys/:keyId/children/:childId', 'keys', 'Revokes a child key and all below it', { scope: 'any' }),
  runPlayground: route('POST /playground', 'playground', 'Sends a request to a model and streams the reply', { scope: 'any' }),
  listBudgets: route(
    'GET /accounts/:accountId/budgets',
    'usage.read',
    'Budgets of an account, its projects and its keys, with what is spent and held of each',
    { scope: 'project' },
  ),
  createBudget: route(
    'POST /accounts/:accountId/budgets',
    'budgets',
    'Makes a budget of the account, a project or a key for a period; 409 when there is one',
    { status: 201 },
  ),
  setBudget: route(
    'PUT /accounts/:accountId/budgets',
    'budgets',
    'Sets the budget of the account, a project or a key for a period, or changes its limit',
  ),
  removeBudget: route('DELETE /accounts/:accountId/budgets/:budgetId', 'budgets', 'Removes a budget; running requests are not affected'),
  listBudgetValues: route(
    'GET /accounts/:accountId/budgets/:budgetId/values',
    'usage.read',
    'Users, sessions or other values of a budget, with what each has spent and holds',
    { scope: 'project' },
  ),
  listWebhooks: route(
    'GET /accounts/:accountId/webhooks',
    'notifications.read',
    'Webhooks that get the events of an account, oldest first',
  ),
  createWebhook: route('POST /accounts/:accountId/webhooks', 'notifications', 'Adds a webhook, whose secret is shown once', {
    status: 201,
  }),
  updateWebhook: route('PATCH /accounts/:accountId/webhooks/:webhookId', 'notifications', 'Changes the URL of a webhook, or mutes it'),
  removeWebhook: route('DELETE /accounts/:accountId/webhooks/:webhookId', 'notifications', 'Removes a webhook with what waits for it'),
  rotateWebhook: route(
    'POST /accounts/:accountId/webhooks/:webhookId/rotate',
    'notifications',
    'Gives a webhook a new secret, which is shown once',
  ),
  testWebhook: route('POST /accounts/:accountId/webhooks/:webhookId/test', 'notifications', 'Sends a message of kind test, once'),
  replayWebhook: route('POST /accounts/:accountId/webhooks/:webhookId/replay', 'notifications', 'Sends the events since a time again'),
  listDeliveries: route(
    'GET /accounts/:accountId/webhooks/:webhookId/deliveries',
    'notifications.read',
    'Events of the last 30 days with what came of them at a webhook, newest first',
  ),
  resendEvent: route(
    'POST /accounts/:accountId/webhooks/:webhookId/events/:eventId/send',
    'notifications',
    'Sends one event to a webhook again, at once',
  ),
  listMovements: route('GET /accounts/:accountId/movements', 'money.read', 'Movements of money besides requests, newest first', {
    readsJournal: true,
  }),
  downloadStatement: route('GET /accounts/:accountId/statements/:month.csv', 'money.read', 'The same as a file'),
  downloadStatementPdf: route('GET /accounts/:accountId/statements/:month.pdf', 'money.read', 'Statement of a closed month as a PDF'),
  downloadReceipts: route('GET /accounts/:accountId/receipts/:month.jsonl', 'money.read', 'All receipts of a closed month'),
  showStatement: route('GET /accounts/:accountId/statements/:month', 'money.read', 'Statement of a month', { readsJournal: true }),
  showStatementMail: route('GET /accounts/:accountId/statement-mail', 'money.read', 'Whether the person gets the statements by mail'),
  setStatementMail: route('PUT /accounts/:accountId/statement-mail', 'money.read', 'Switches the mails with statements on or off'),
  createTopup: route('POST /accounts/:accountId/topups', 'money.write', 'Credits a payment, once', { confirmed: true }),
  createRefund: route('POST /accounts/:accountId/refunds', 'money.write', 'Takes a top-up back, in whole or in part, once', {
    confirmed: true,
  }),
  createAdjustment: route('POST /accounts/:accountId/adjustments', 'money.write', 'Corrects the top-up balance, up or down, once', {
    confirmed: true,
  }),
  createCreditNote: route(
    'POST /accounts/:accountId/credit-notes',
    'money.write',
    'Gives back the cost of a settled request, in whole or in part, once',
    { confirmed: true },
  ),
  createGrant: route('POST /accounts/:accountId/grants', 'money.write', 'Replaces the plan balance, once', { confirmed: true }),
  setLowBalance: route(
    'PUT /accounts/:accountId/low-balance',
    'notifications',
    'Sets the amount below which the account is told that its balance is low',
  ),
  showCardPayments: route(
    'GET /accounts/:accountId/card-payments',
    'money.read',
    'Automatic top-ups of an account, where payments by card are on',
  ),
  createCheckout: route('POST /accounts/:accountId/checkouts', 'payments', 'Opens a page of Stripe on which an amount is paid by card', {
    status: 201,
  }),
  setAutoTopup: route('PUT /accounts/:accountId/auto-topup', 'payments', 'Sets the automatic top-up of an account', { confirmed: true }),
  removeAutoTopup: route('DELETE /accounts/:accountId/auto-topup', 'payments', 'Ends automatic top-ups, and forgets the card'),
  listModels: route('GET /models', 'models.read', 'Models with capabilities and prices', { scope: 'any' }),
  showCatalog: route('GET /catalog', 'catalog.read', 'Text and author of a revision of the catalog'),
  listRevisions: route('GET /catalog/revisions', 'catalog.read', 'Revisions of the catalog, newest first'),
  planCatalog: route('POST /catalog/plan', 'catalog', 'Faults of a catalog, or the changes that it would make'),
  applyCatalog: route('POST /catalog/apply', 'catalog', 'Replaces the catalog by a file', { confirmed: true }),
  listScheduledPrices: route('GET /prices/scheduled', 'catalog.read', 'Prices that wait for their time'),
  schedulePrice: route('POST /prices/scheduled', 'catalog', 'Schedules a price of a model', { confirmed: true, status: 201 }),
  cancelScheduledPrice: route('DELETE /prices/scheduled/:scheduledPriceId', 'catalog', 'Cancels a scheduled price before its time', {
    confirmed: true,
  }),
  listUpstreams: route('GET /upstreams', 'upstreams.read', 'Routes to upstreams, as each replica sees them'),
  listServices: route('GET /services', 'upstreams.read', 'Replicas of all services: build, start and readiness'),
  testUpstream: route('POST /upstreams/:upstreamId/test', 'upstreams', 'Tests what an upstream of the catalog supports, check by check'),
  listLedgerChecks: route('GET /ledger/checks', 'ledger.read', 'Last reports of the ledger check, and frozen accounts', {
    readsJournal: true,
  }),
  checkLedger: route('POST /ledger/checks', 'ledger', 'Checks the ledger now'),
  checkJournals: route('GET /ledger/journals', 'ledger.read', 'Checks the journals of catalog and panel now', { readsJournal: true }),
  showMargin: route('GET /margin', 'ledger.read', 'What the usage of a month was charged, and what it cost', { readsJournal: true }),
  listAudit: route('GET /audit', 'audit.read', 'Changes and sign-ins, newest first', { scope: 'any', readsJournal: true }),
  downloadAudit: route('GET /audit.csv', 'audit.read', 'The same as a file', { scope: 'any' }),
} satisfies Record<string, Route>;

export type RouteName = keyof typeof ROUTES;

/** Returns a row of the table. `endpoint` is its method and its path. */
function route<M extends Method>(
  endpoint: `${M} ${string}`,
  access: Route['access'],
  summary: string,
  options: Omit<Route, 'method' | 'path' | 'access' | 'summary'> = {},
): Route & { method: M } {
  const [method, path] = endpoint.split(' ') as [M, string];
  return { method, path, access, summary, ...options };
}

export function findRoute(name: RouteName): Route {
  return ROUTES[name];
}

/** Returns where the permission of a route must be held. */
export function findScope({ scope, path }: Route): NonNullable<Route['scope']> {
  return scope ?? (path.includes(':accountId') ? 'account' : 'platform');
}

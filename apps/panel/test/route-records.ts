import type { ROUTES, RouteName } from '../src/http/routes.js';

type Writing = { [Name in RouteName]: (typeof ROUTES)[Name]['method'] extends 'GET' ? never : Name }[RouteName];

/**
 * Action of the row that each route writes into a journal. A new route that is no GET needs a line. Null: it changes nothing and costs
 * little. `test/e2e/panel/audit-rows.test.ts` calls each of them.
 */
export const ROUTE_RECORDS: Record<Writing | 'finishSso', string | null> = {
  signIn: 'session.start',
  signOut: 'session.end',
  confirmSession: 'session.confirm',
  endSessions: 'session.end-all',
  endSession: 'session.end',
  updateMe: 'user.update',
  updateMember: 'user.update',
  removeMember: 'member.remove',
  createInvite: 'invite.create',
  withdrawInvite: 'invite.withdraw',
  showInvite: null,
  acceptInvite: 'invite.accept',
  finishSso: 'session.start',
  createToken: 'token.create',
  revokeToken: 'token.revoke',
  createAccount: 'account.create',
  updateAccount: 'account.update',
  createProject: 'project.create',
  updateProject: 'project.update',
  createKey: 'key.create',
  updateKey: 'key.update',
  rotateKey: 'key.rotate',
  revokeKey: 'key.revoke',
  // For the first request of a session in a project. Each request is in the journal of requests.
  runPlayground: 'key.create',
  createBudget: 'budget.create',
  setBudget: 'budget.update',
  removeBudget: 'budget.remove',
  createWebhook: 'webhook.create',
  updateWebhook: 'webhook.update',
  removeWebhook: 'webhook.remove',
  rotateWebhook: 'webhook.rotate',
  testWebhook: 'webhook.test',
  replayWebhook: 'webhook.replay',
  resendEvent: 'webhook.resend',
  createTopup: 'topup.create',
  createRefund: 'refund.create',
  createAdjustment: 'adjustment.create',
  createGrant: 'plan.grant',
  planCatalog: null,
  applyCatalog: 'catalog.apply',
  schedulePrice: 'price.schedule',
  cancelScheduledPrice: 'price.cancel',
  testUpstream: 'upstream.test',
  checkLedger: 'ledger.check',
};

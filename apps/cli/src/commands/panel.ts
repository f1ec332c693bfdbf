import {
  PANEL_ROLES,
  type PanelRole,
  type PanelUser,
  panelFactorsReset,
  panelInvite,
  panelSessionsEnd,
  panelUserList,
  panelUserUpdate,
} from '#contracts/panel.js';
import { command } from '../command.js';
import { type Names, readNames } from '../names.js';
import { accountId, argument, cursor, flag, oneOf, optional, projectId, text } from '../parameters.js';
import { morePages, renderFields, renderTable } from '../render.js';
import { UsageError } from '../usage-error.js';

const email = text(254, 'e-mail');

export const panelCommands = [
  command({
    name: 'panel invite',
    summary: 'Create a one-time link that gives a person a role, or an existing person a new password',
    parameters: {
      admin: flag('the role admin of the whole platform'),
      role: optional(oneOf(PANEL_ROLES, 'role'), 'the role'),
      account: optional(accountId, 'account of the roles owner, finance, developer and viewer'),
      project: optional(projectId, 'project of the roles project-developer, project-member and project-viewer'),
      email: optional(email, 'e-mail of the person; default: the person types it'),
    },
    examples: [
      'panel invite --admin',
      'panel invite --role owner --account acme --email ada@example.com',
      'panel invite --role project-developer --project web --email ada@example.com',
    ],
    endpoint: panelInvite,
    request: ({ admin, role, account, project, email }) => ({
      role: parseRole(admin, role),
      accountId: account,
      projectId: project,
      email,
    }),
    render: ({ link, role, accountId, projectId, email, expiresAt }) =>
      renderFields({
        link,
        role,
        account: accountId,
        ...(projectId !== null && { project: projectId }),
        'e-mail': email ?? 'typed by the person who opens the link',
        expires: expiresAt,
      }),
  }),
  command({
    name: 'panel users',
    summary: 'List the people of the panel',
    parameters: { role: optional(oneOf(PANEL_ROLES, 'role'), 'only people with this role'), cursor },
    examples: ['panel users', 'panel users --role admin'],
    endpoint: panelUserList,
    request: ({ role, cursor }) => ({ role, cursor }),
    lookUp: (_, messaging) => readNames(messaging, ['account', 'project']),
    render: ({ users, nextCursor }, names) =>
      renderTable(users, 'no people yet: make the first admin with panel invite --admin', {
        USER: (row) => row.userId,
        'E-MAIL': (row) => row.email,
        NAME: (row) => row.name,
        ROLES: (row) => renderRoles(row, names),
        DISABLED: (row) => row.disabledAt ?? '-',
      }) + morePages(nextCursor),
  }),
  command({
    name: 'panel disable',
    summary: 'Keep a person out of the panel and end their sessions and tokens; --undo lets them in again',
    parameters: { email: argument(email, 'e-mail of the person'), undo: flag('let them in again') },
    examples: ['panel disable ada@example.com', 'panel disable ada@example.com --undo'],
    endpoint: panelUserUpdate,
    request: ({ email, undo }) => ({ email, disabled: !undo }),
    render: (user) =>
      renderFields({
        user: user.userId,
        'e-mail': user.email,
        name: user.name,
        roles: renderRoles(user),
        disabled: user.disabledAt ?? 'no',
      }),
  }),
  command({
    name: 'panel reset-factors',
    summary: 'Remove the second factors and recovery codes of a person who has lost them; the password alone signs in then',
    parameters: { email: argument(email, 'e-mail of the person') },
    examples: ['panel reset-factors ada@example.com'],
    endpoint: panelFactorsReset,
    request: ({ email }) => ({ email }),
    render: ({ userId, factorsRemoved }) => renderFields({ user: userId, 'factors removed': String(factorsRemoved) }),
  }),
  command({
    name: 'panel end-sessions',
    summary: 'End all sessions of a person and revoke their tokens',
    parameters: { email: argument(email, 'e-mail of the person'), keepTokens: flag('do not revoke the tokens that the person has made') },
    examples: ['panel end-sessions ada@example.com', 'panel end-sessions ada@example.com --keep-tokens'],
    endpoint: panelSessionsEnd,
    request: ({ email, keepTokens }) => ({ email, keepTokens }),
    render: ({ userId, sessionsEnded, tokensEnded }) =>
      renderFields({ user: userId, 'sessions ended': String(sessionsEnded), 'tokens revoked': String(tokensEnded) }),
  }),
];

function parseRole(admin: true | undefined, role: PanelRole | undefined): PanelRole {
  if ((admin === undefined) === (role === undefined)) throw new UsageError('give --admin or --role, one of them');
  return role ?? 'admin';
}

function renderRoles({ grants }: PanelUser, names: Names = (_, id) => id): string {
  return grants.map((grant) => `${grant.role}${renderPlace(grant, names)}`).join(', ') || '-';
}

function renderPlace({ accountId, projectId }: PanelUser['grants'][number], names: Names): string {
  if (accountId === null) return '';
  return projectId === null ? ` of ${names('account', accountId)}` : ` of ${names('project', projectId)} (${names('account', accountId)})`;
}

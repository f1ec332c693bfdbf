import { keyCreate, keyList, keyRevoke } from '#contracts/billing/keys.js';
import { command } from '../command.js';
import { argument, cursor, defaultingToOnly, keyId, optional, projectId, text } from '../parameters.js';
import { morePages, renderFields, renderTable } from '../render.js';

export const keyCommands = [
  command({
    name: 'key create',
    summary: 'Create an API key for a project and show it once',
    parameters: { project: defaultingToOnly(projectId, 'id of the project'), name: optional(text(200), 'display name') },
    examples: ['key create --project <project-id>', 'key create --project <project-id> --name ci'],
    endpoint: keyCreate,
    request: ({ project, name }) => ({ projectId: project, name }),
    render: ({ key, keyId, projectId, name }) =>
      `${renderFields({ key, 'key id': keyId, project: projectId, name })}\nSave the key now: it is not shown again.`,
  }),
  command({
    name: 'key list',
    summary: 'List API keys by their last four characters',
    parameters: { project: optional(projectId, 'only keys of this project'), cursor },
    examples: ['key list', 'key list --project <project-id>'],
    endpoint: keyList,
    request: ({ project, cursor }) => ({ projectId: project, cursor }),
    render: ({ keys, nextCursor }) =>
      renderTable(
        keys,
        {
          'KEY ID': (row) => row.keyId,
          PROJECT: (row) => row.projectId,
          NAME: (row) => row.name,
          ENDS: (row) => `…${row.lastFour}`,
          CREATED: (row) => row.createdAt,
          'LAST USED': (row) => row.lastUsedAt,
          REVOKED: (row) => row.revokedAt,
        },
        'no keys',
      ) + morePages(nextCursor),
  }),
  command({
    name: 'key revoke',
    summary: 'Revoke an API key permanently; it stops working within a second',
    parameters: { keyId: argument(keyId, 'id of the key, as in key list') },
    examples: ['key revoke <key-id>'],
    endpoint: keyRevoke,
    request: ({ keyId }) => ({ keyId }),
    render: ({ keyId, projectId, revokedAt }) => renderFields({ 'key id': keyId, project: projectId, revoked: revokedAt }),
  }),
];

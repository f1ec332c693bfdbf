import { childKeyList, childKeyMint, childKeyRevoke } from '#contracts/billing/child-keys.js';
import { renderUsd } from '#money/pico-usd.js';
import { command } from '../command.js';
import {
  argument,
  childId,
  cursor,
  duration,
  keyId,
  listKind,
  network,
  optional,
  pairs,
  text,
  usdAsPico,
  wholeNumber,
} from '../parameters.js';
import { morePages, renderFields, renderTable } from '../render.js';

const id = argument(keyId, 'name or id of the key');

export const childKeyCommands = [
  command({
    name: 'key mint-child',
    summary: 'Make a child key of an API key, for an agent, and show it once',
    parameters: {
      keyId: id,
      expiresIn: optional(duration('30d'), 'time that it lives, such as 30m; it never outlives the key; default 1h'),
      limit: optional(usdAsPico, 'most that it and all below it may cost; default: the limit of the budget of child keys'),
      models: optional(listKind(text(256, 'patterns')), 'some of the models of the key, such as gpt-*; default: all of them'),
      networks: optional(listKind(network), 'some of the networks of the key; default: all of them'),
      tags: optional(pairs('name=value;…'), 'tags that all its requests have, such as team=search'),
    },
    examples: [
      'key mint-child ci --expires-in 30m --limit 0.20',
      'key mint-child ci --expires-in 1d --models sim-fast --tags agent=researcher',
    ],
    endpoint: childKeyMint,
    request: ({ expiresIn: seconds, limit: limitPicoUsd, ...fields }) => ({ ...fields, seconds, limitPicoUsd }),
    render: ({ childId, keyId, key, expiresAt, limitPicoUsd }) =>
      `${renderFields({ key, 'child id': childId, 'key id': keyId, expires: expiresAt, limit: `$${renderUsd(BigInt(limitPicoUsd))}` })}\nSave the key now: it is not shown again.`,
  }),
  command({
    name: 'key children',
    summary: 'List the child keys of an API key that have not ended, with what each has spent of its limit',
    parameters: { keyId: id, limit: optional(wholeNumber(1, 1_000), 'rows on a page; default 100'), cursor },
    examples: ['key children ci'],
    endpoint: childKeyList,
    request: (request) => request,
    render: ({ childKeys, nextCursor }) =>
      renderTable(childKeys, 'no child keys', {
        'CHILD ID': (row) => row.childId,
        SPENT: (row) => `$${renderUsd(BigInt(row.spentPicoUsd))}`,
        HELD: (row) => `$${renderUsd(BigInt(row.heldPicoUsd))}`,
        LIMIT: (row) => `$${renderUsd(BigInt(row.limitPicoUsd))}`,
        EXPIRES: (row) => row.expiresAt,
        STATE: (row) => (row.isRevoked ? 'revoked' : 'active'),
      }) + morePages(nextCursor),
  }),
  command({
    name: 'key revoke-child',
    summary: 'Revoke a child key and all below it; they stop working at once',
    parameters: { keyId: id, childId: argument(childId, 'id of the child key, as key children shows it') },
    examples: ['key revoke-child ci 1798761600-9f86d081884c7d65'],
    endpoint: childKeyRevoke,
    request: (request) => request,
    render: ({ keyId, revoked }) => renderFields({ 'key id': keyId, revoked: revoked.join(', ') }),
  }),
];

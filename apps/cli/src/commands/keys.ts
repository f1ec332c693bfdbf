import { type ApiKey, type CreatedKey, keyCreate, keyList, keyRevoke, keyRotate, keyUpdate } from '#contracts/billing/keys.js';
import { command } from '../command.js';
import { idColumn, readNames } from '../names.js';
import {
  argument,
  clearable,
  clearableNumber,
  concurrency,
  cursor,
  defaultingToOnly,
  duration,
  flag,
  instant,
  keyId,
  listKind,
  modelLimits,
  network,
  optional,
  projectId,
  rpm,
  text,
  tpm,
} from '../parameters.js';
import { limitFields, morePages, renderFields, renderTable, renderTime } from '../render.js';
import { UsageError } from '../usage-error.js';

const id = argument(keyId, 'name or id of the key');
const name = text(200);
const note = text(1_000);
const models = listKind(text(256, 'patterns'));
const networks = listKind(network);
/** Programs have a day to take the new key. */
const GRACE_DEFAULT_SECONDS = 86_400;

export const keyCommands = [
  command({
    name: 'key create',
    summary: 'Create an API key for a project and show it once',
    parameters: {
      project: defaultingToOnly(projectId, 'name or id of the project'),
      name: optional(name, 'display name'),
      note: optional(note, 'what the key is for'),
      expires: optional(instant, 'the key is refused from then on; default: no end'),
      models: optional(models, 'the only models of the key, such as gpt-*,o3; default: all'),
      networks: optional(networks, 'the only clients of the key, such as 10.0.0.0/8,2001:db8::1; default: any'),
      rpm: optional(rpm, 'maximum of requests in any minute, beside that of the project'),
      concurrency: optional(concurrency, 'maximum of concurrent requests, beside that of the project'),
      tpm: optional(tpm, 'maximum of tokens in any minute, beside that of the project'),
      modelLimits: optional(modelLimits, 'limits per minute of patterns of models, such as gpt-*=tpm:100000,rpm:60; o3=rpm:5'),
    },
    examples: [
      'key create --project web',
      'key create --project web --name ci --expires 2027-01-31',
      "key create --project web --models 'gpt-*' --networks 10.0.0.0/8",
    ],
    endpoint: keyCreate,
    request: ({ project, expires, rpm, concurrency, tpm, ...fields }) => ({
      ...fields,
      projectId: project,
      expiresAt: expires,
      requestsPerMinuteMax: rpm,
      concurrencyMax: concurrency,
      tokensPerMinuteMax: tpm,
    }),
    render: renderCreated,
  }),
  command({
    name: 'key list',
    summary: 'List API keys by their last four characters',
    parameters: { project: optional(projectId, 'only keys of this project'), cursor },
    examples: ['key list', 'key list --project web'],
    endpoint: keyList,
    request: ({ project, cursor }) => ({ projectId: project, cursor }),
    lookUp: (_, messaging) => readNames(messaging, ['project']),
    render: ({ keys, nextCursor }, names) =>
      renderTable(keys, 'no keys', {
        NAME: (row) => row.name,
        ...idColumn(keys, ({ keyId }) => keyId),
        PROJECT: (row) => names('project', row.projectId),
        KEY: (row) => `…${row.lastFour}`,
        STATE: (row) => row.status,
        EXPIRES: (row) => renderTime(row.expiresAt),
        'LAST USED': (row) => renderTime(row.lastUsedAt),
        CREATED: (row) => row.createdAt.slice(0, 10),
        'CREATED BY': (row) => row.createdBy,
      }) + morePages(nextCursor),
  }),
  command({
    name: 'key update',
    summary: 'Change the settings of an API key; the change is in force within a second',
    parameters: {
      keyId: id,
      name: optional(clearable(name), "display name; '' clears it"),
      note: optional(clearable(note), "what the key is for; '' clears it"),
      expires: optional(instant, 'the key is refused from then on; of a replaced key an earlier end alone'),
      expiresNever: flag('the key has no end'),
      models: optional(models, "the only models of the key, such as gpt-*,o3; '' allows all"),
      networks: optional(networks, "the only clients of the key, such as 10.0.0.0/8; '' allows any"),
      rpm: optional(clearableNumber(rpm), "maximum of requests in any minute; '' for none"),
      concurrency: optional(clearableNumber(concurrency), "maximum of concurrent requests; '' for none"),
      tpm: optional(clearableNumber(tpm), "maximum of tokens in any minute; '' for none"),
      modelLimits: optional(modelLimits, "limits per minute of patterns of models, which replace those before; '' for none"),
      enabled: flag('accept it again'),
      disabled: flag('refuse it, and stop its running requests'),
    },
    examples: [
      'key update ci --models sim-fast',
      'key update ci --disabled',
      'key update ci --name ci --expires 2027-01-31',
      "key update ci --note '' --expires-never",
    ],
    endpoint: keyUpdate,
    request: ({ keyId, ...values }) => {
      const { name, note, expires, expiresNever, enabled, disabled, models, networks, rpm, concurrency, tpm, modelLimits } = values;
      if (enabled && disabled) throw new UsageError('--enabled and --disabled contradict each other');
      if (Object.values(values).every((value) => value === undefined)) {
        throw new UsageError('nothing to change: give an option, such as --name, --expires, --models, --rpm or --disabled');
      }
      return {
        keyId,
        name: name === '' ? null : name,
        note: note === '' ? null : note,
        expiresAt: parseEnd(expires, expiresNever),
        disabled: disabled ?? (enabled ? false : undefined),
        models,
        networks,
        requestsPerMinuteMax: rpm === 0 ? null : rpm,
        concurrencyMax: concurrency === 0 ? null : concurrency,
        tokensPerMinuteMax: tpm === 0 ? null : tpm,
        modelLimits,
      };
    },
    render: renderKey,
  }),
  command({
    name: 'key rotate',
    summary: 'Replace an API key by a new one, which is shown once; the old one ends after a grace',
    parameters: {
      keyId: id,
      grace: optional(duration('30d'), 'how long the old key works on, such as 90s, 30m, 24h or 7d; default: 24h'),
      expires: optional(instant, 'end of the new key; default: that of the old one'),
      expiresNever: flag('the new key has no end'),
    },
    examples: ['key rotate ci', 'key rotate ci --grace 7d --expires 2027-12-31', 'key rotate ci --grace 0s'],
    endpoint: keyRotate,
    request: ({ keyId, grace = GRACE_DEFAULT_SECONDS, expires, expiresNever }) => ({
      keyId,
      graceSeconds: grace,
      expiresAt: parseEnd(expires, expiresNever),
    }),
    render: ({ replaced, ...made }) => `${renderCreated(made)}\nThe old key …${replaced.lastFour} works until ${replaced.expiresAt}.`,
  }),
  command({
    name: 'key revoke',
    summary: 'Revoke an API key permanently; it stops working within a second',
    parameters: { keyId: id },
    examples: ['key revoke ci'],
    endpoint: keyRevoke,
    request: ({ keyId }) => ({ keyId }),
    render: ({ keyId, projectId, revokedAt }) => renderFields({ 'key id': keyId, project: projectId, revoked: revokedAt }),
  }),
];

function parseEnd(expires: string | undefined, never: true | undefined): string | null | undefined {
  if (expires && never) throw new UsageError('--expires and --expires-never contradict each other');
  return never ? null : expires;
}

function renderCreated({ key, keyId, projectId, name, expiresAt, ...allowed }: CreatedKey): string {
  return `${renderFields({ key, 'key id': keyId, project: projectId, name, expires: expiresAt, ...allowedFields(allowed) })}\nSave the key now: it is not shown again.`;
}

/** Lists and limits of a key, where it has some. */
function allowedFields({ models, networks, ...limits }: Parameters<typeof limitFields>[0] & Pick<ApiKey, 'models' | 'networks'>) {
  return {
    ...(models.length > 0 && { models: models.join(', ') }),
    ...(networks.length > 0 && { networks: networks.join(', ') }),
    ...limitFields(limits),
  };
}

function renderKey({ keyId, projectId, name, note, lastFour, disabled, expiresAt, createdAt, createdBy, ...allowed }: ApiKey): string {
  return renderFields({
    'key id': keyId,
    project: projectId,
    name,
    note,
    key: `…${lastFour}`,
    disabled,
    expires: expiresAt,
    ...allowedFields(allowed),
    created: createdAt,
    'created by': createdBy,
  });
}

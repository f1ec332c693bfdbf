import { createHash, randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { parseAllDocuments, stringify } from 'yaml';
import { UsageError } from '../usage-error.js';
import { isRecord } from './tenants-file.js';

export const SECRETS_FORMATS = ['yaml', 'kubernetes'] as const;
export type SecretsFormat = (typeof SECRETS_FORMATS)[number];

/** A key that was made here. Billing knows its digest alone. */
export interface KeySecret {
  account: string;
  project: string;
  name: string;
  keyId: string;
  key: string;
}

const HEAD = '# Secrets of API keys, written by tollgate apply. They are nowhere else: keep this file, and keep it out of git.\n';
const FIELDS = ['account', 'project', 'name', 'keyId', 'key'] as const;

/** Reads the secrets of a file that `writeSecrets` wrote, in either format. None where there is no file. @throws {UsageError} for another file. */
export async function readSecrets(file: string): Promise<KeySecret[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new UsageError(`cannot read ${file}: ${error.code}`);
  });
  const documents = parseAllDocuments(text);
  if ('empty' in documents) return [];
  const contents = documents.filter(({ errors }) => errors.length === 0).map((document): unknown => document.toJS());
  const entries = contents.flatMap((content) => (Array.isArray(content) ? content : content === null ? [] : [readManifest(content)]));
  if (contents.length < documents.length || !entries.every(isSecret)) {
    throw new UsageError(`${file} was not written by tollgate apply: name another file for the secrets`);
  }
  return entries;
}

function readManifest(content: unknown): unknown {
  const { metadata, stringData } = (isRecord(content) ? content : {}) as Record<string, Record<string, unknown> | undefined>;
  const { annotations = {} } = (metadata ?? {}) as { annotations?: Record<string, unknown> };
  return {
    ...Object.fromEntries(FIELDS.map((field) => [field, annotations[`tollgate/${field.toLowerCase()}`]])),
    key: stringData?.['api-key'],
  };
}

function isSecret(entry: unknown): entry is KeySecret {
  return isRecord(entry) && FIELDS.every((field) => typeof entry[field] === 'string');
}

/**
 * Replaces the file, readable for its owner alone, or removes it when it has no secret. It is complete and on the disk before this ends: a key
 * must not come to be whose secret is lost.
 */
export async function writeSecrets(file: string, secrets: readonly KeySecret[], format: SecretsFormat): Promise<void> {
  if (secrets.length === 0) return rm(file, { force: true });
  const temporary = `${file}.${randomUUID()}.tmp`;
  const text = format === 'yaml' ? HEAD + stringify(secrets) : HEAD + renderManifests(secrets);
  try {
    const handle = await open(temporary, 'wx', 0o600);
    await handle.writeFile(text);
    await handle.sync();
    await handle.close();
    await rename(temporary, file);
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Adds a text to a file that only its owner can read, on the disk before this ends. */
export async function appendPrivate(file: string, text: string): Promise<void> {
  try {
    const handle = await open(file, 'a', 0o600);
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
    await handle.close();
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function renderManifests(secrets: readonly KeySecret[]): string {
  return secrets.map((secret) => stringify(renderManifest(secret))).join('---\n');
}

function renderManifest(secret: KeySecret): object {
  const { key, ...described } = secret;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: nameSecret(secret),
      labels: { 'app.kubernetes.io/managed-by': 'tollgate' },
      annotations: Object.fromEntries(Object.entries(described).map(([field, value]) => [`tollgate/${field.toLowerCase()}`, value])),
    },
    type: 'Opaque',
    stringData: { 'api-key': key },
  };
}

/** Returns `tollgate-<account>-<project>-<key>`, with a digest where the names have other characters or are too long. */
export function nameSecret({ account, project, name }: Pick<KeySecret, 'account' | 'project' | 'name'>): string {
  const names = [account, project, name];
  const isPlain = names.every((one) => /^[a-z0-9]+$/.test(one)) && names.join('').length < 200;
  const slugs = names.map((one) =>
    one
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 60),
  );
  const digest = createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 8);
  return ['tollgate', ...slugs.filter((slug) => slug !== ''), ...(isPlain ? [] : [digest])].join('-');
}

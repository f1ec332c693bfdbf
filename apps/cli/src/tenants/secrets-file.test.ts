import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { type KeySecret, nameSecret, readSecrets, SECRETS_FORMATS, writeSecrets } from './secrets-file.js';

const SECRETS: KeySecret[] = [
  { account: 'acme', project: 'web', name: 'ci', keyId: '0190a6f0-7c1e-7000-8000-000000000001', key: 'tg_live_one' },
  { account: 'Grünes Haus', project: 'web: "1"', name: 'null', keyId: '0190a6f0-7c1e-7000-8000-000000000002', key: 'tg_live_two' },
];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-secrets-'));
});
afterEach(() => rm(folder, { recursive: true }));

test.each(SECRETS_FORMATS)('what is written as %s is read again, and is readable for its owner alone', async (format) => {
  const file = join(folder, 'keys.yaml');
  await writeFile(file, '[]', { mode: 0o644 });
  await writeSecrets(file, SECRETS, format);
  expect(await readSecrets(file)).toEqual(SECRETS);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['keys.yaml']);
});

test('a manifest is a Secret with the key alone', async () => {
  const file = join(folder, 'keys.yaml');
  await writeSecrets(file, SECRETS.slice(0, 1), 'kubernetes');
  expect(parseAllDocuments(await readFile(file, 'utf8')).map((document) => document.toJS())).toEqual([
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'tollgate-acme-web-ci',
        labels: { 'app.kubernetes.io/managed-by': 'tollgate' },
        annotations: {
          'tollgate/account': 'acme',
          'tollgate/project': 'web',
          'tollgate/name': 'ci',
          'tollgate/keyid': '0190a6f0-7c1e-7000-8000-000000000001',
        },
      },
      type: 'Opaque',
      stringData: { 'api-key': 'tg_live_one' },
    },
  ]);
});

test('names that Kubernetes does not take get a digest, so that no two are one', () => {
  const names = ['a b', 'a-b', 'A-B', 'ä', '…', 'x'.repeat(300)].map((name) => nameSecret({ account: 'acme', project: 'web', name }));
  for (const name of names) expect(name).toMatch(/^[a-z0-9]([a-z0-9-]{0,251}[a-z0-9])$/);
  expect(new Set(names).size).toBe(names.length);
});

test('there are no secrets where there is no file', async () => {
  expect(await readSecrets(join(folder, 'none.yaml'))).toEqual([]);
});

test.each(['accounts: []\n', '- name: ci\n', 'a: [\n', 'text'])('%j is not overwritten', async (text) => {
  const file = join(folder, 'tenants.yaml');
  await writeFile(file, text);
  await expect(readSecrets(file)).rejects.toThrow(`${file} was not written by tollgate apply: name another file for the secrets`);
});

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Upstream } from '#contracts/catalog.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { readApiKey, whyNoKey } from './api-key.js';

const clock = performance.now;
const before = { ...process.env };
let folder: string;
/** Names differ between tests, because files are cached by name. */
let prefix: string;
let tests = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  process.env.UPSTREAM_SECRETS_DIR = folder;
  prefix = `k${tests++}-`;
});

afterEach(() => {
  performance.now = clock;
  process.env = { ...before };
  rmSync(folder, { recursive: true });
});

function put(name: string, text: string): string {
  writeFileSync(join(folder, prefix + name), text);
  return prefix + name;
}

const BASE_URL = 'https://api.example.com/v1';

function readKey(upstream: Partial<Upstream>): string | undefined {
  return readApiKey({ apiKeyEnv: null, baseUrl: BASE_URL, ...upstream });
}

function readRefusal(upstream: Partial<Upstream>): string | undefined {
  return whyNoKey({ apiKeyEnv: null, baseUrl: BASE_URL, ...upstream });
}

test('in a file it is read from the folder of secrets, and again when it is replaced', () => {
  const apiKeyFile = put('key', 'sk-one\n');
  put('key.hosts', 'api.example.com\n');
  expect(readKey({ apiKeyFile })).toBe('sk-one');
  put('key', 'sk-another\n');
  performance.now = () => clock.call(performance) + 1_100;
  expect(readKey({ apiKeyFile })).toBe('sk-another');
});

test('in the environment it is read from there; without one there is none', () => {
  process.env.UPSTREAM_KEY_TEST = 'sk-env';
  process.env.UPSTREAM_KEY_TEST_HOSTS = 'api.example.com';
  expect(readKey({ apiKeyEnv: 'UPSTREAM_KEY_TEST' })).toBe('sk-env');
  expect(readKey({})).toBeUndefined();
});

test.each<[Partial<Upstream>, reason: string]>([
  [{ apiKeyFile: 'not-there' }, 'no key in the file not-there'],
  [{ apiKeyFile: '../../etc/passwd' }, 'no key in the file ../../etc/passwd'],
  [{ apiKeyFile: 'api-key-loop' }, 'the file api-key-loop cannot be read (ELOOP)'],
  [{ apiKeyFile: 'folder' }, 'the file folder cannot be read (EISDIR)'],
  [{ apiKeyFile: 'lines' }, 'the secret in the file lines has characters that no header can carry (two lines?)'],
  [{ apiKeyFile: 'greek' }, 'the secret in the file greek has characters that no header can carry (two lines?)'],
  [{ apiKeyEnv: 'UPSTREAM_KEY_NOT_SET' }, 'no key in UPSTREAM_KEY_NOT_SET'],
])('that cannot be read is the operator’s fault: %j', (upstream, detail) => {
  symlinkSync('api-key-loop', join(folder, 'api-key-loop'));
  mkdirSync(join(folder, 'folder'));
  writeFileSync(join(folder, 'lines'), 'sk-one\nsk-two\n');
  writeFileSync(join(folder, 'greek'), 'sk-κλειδί\n');
  let failure: unknown;
  try {
    readKey(upstream);
  } catch (error) {
    failure = error;
  }
  expect(failure).toBeInstanceOf(UpstreamFailure);
  expect(failure).toMatchObject({ kind: 'denied', code: 'model_unavailable', isOperatorsFault: true, detail });
});

describe('no other variable or file is sent, whatever the catalog names [sec-upstream-secret]', () => {
  test.each([
    'HOME',
    'OTEL_EXPORTER_OTLP_HEADERS',
    'AWS_SECRET_ACCESS_KEY',
    'NATS_PASSWORD',
    'UPSTREAM_SECRETS_DIR',
    'UPSTREAM_KEY_A_HOSTS',
  ])('the variable %s', (apiKeyEnv) => {
    process.env[apiKeyEnv] ??= 'ours';
    process.env[`${apiKeyEnv}_HOSTS`] = 'api.example.com';
    expect(readRefusal({ apiKeyEnv })).toBe(
      `${apiKeyEnv} is never read: rename it to UPSTREAM_KEY_…, for the inference-proxy and in the catalog`,
    );
  });

  test.each(['kubernetes.io/serviceaccount/token', 'secrets/kubernetes.io/token'])('the file %s', (name) => {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), 'token');
    writeFileSync(join(folder, `${name}.hosts`), 'api.example.com');
    expect(readRefusal({ apiKeyFile: name })).toBe(`no key in the file ${name}`);
  });

  test.each(['NATS_SEED_FILE', 'NATS_KEY_FILE'])('the file of %s, nor a link to it', (setting) => {
    const names = [put('nats_seed', 'SUSEED'), put('link', '')];
    rmSync(join(folder, names[1] as string));
    symlinkSync(names[0] as string, join(folder, names[1] as string));
    for (const name of names) writeFileSync(join(folder, `${name}.hosts`), 'api.example.com');
    process.env[setting] = join(folder, names[0] as string);
    expect(names.map((apiKeyFile) => readRefusal({ apiKeyFile }))).toEqual(
      names.map((name) => `the file ${name} is a secret of Tollgate itself`),
    );
  });

  test('the hosts of a key', () => {
    const apiKeyFile = put('key.hosts', 'api.example.com');
    expect(readRefusal({ apiKeyFile })).toBe(
      `the secret in the file ${apiKeyFile} is bound to no host: write api.example.com into ${apiKeyFile}.hosts beside it if that host may receive it`,
    );
  });
});

describe('a key goes to declared hosts alone [sec-upstream-secret]', () => {
  function outcomeFor(declared: string, baseUrl: string): string {
    process.env.UPSTREAM_KEY_TEST = 'sk-env';
    process.env.UPSTREAM_KEY_TEST_HOSTS = declared;
    return readRefusal({ apiKeyEnv: 'UPSTREAM_KEY_TEST', baseUrl }) ?? 'sent';
  }

  test.each([
    ['api.example.com', 'https://api.example.com/v1'],
    ['api.example.com', 'https://API.example.com:443/other'],
    ['https://api.example.com', 'https://api.example.com/v1'],
    ['other.example, api.example.com', 'https://api.example.com/v1'],
    ['other.example\n api.example.com\n', 'https://api.example.com/v1'],
    ['api.example.com:8443', 'https://api.example.com:8443/v1'],
    ['*.example.com', 'https://api.example.com/v1'],
    ['*.example.com', 'https://eu.api.example.com/v1'],
    ['*.example.com:8443', 'https://api.example.com:8443/v1'],
    ['http://127.0.0.1:8000', 'http://127.0.0.1:8000/v1'],
    ['http://vllm', 'http://vllm/v1'],
    ['[::1]:8443', 'https://[::1]:8443/v1'],
    ['bücher.example', 'https://xn--bcher-kva.example/v1'],
  ])('%j: sent to %s', (declared, baseUrl) => {
    expect(outcomeFor(declared, baseUrl)).toBe('sent');
  });

  test.each([
    ['api.example.com', 'https://evil.example/v1', 'evil.example'],
    ['api.example.com', 'https://api.example.com.evil.example/v1', 'api.example.com.evil.example'],
    ['api.example.com', 'https://api.example.com@evil.example/v1', 'evil.example'],
    ['api.example.com', 'https://api.example.com./v1', 'api.example.com.'],
    ['api.example.com', 'https://api.example.com:8443/v1', 'api.example.com:8443'],
    ['api.example.com:8443', 'https://api.example.com/v1', 'api.example.com'],
    ['api.example.com', 'http://api.example.com/v1', 'http://api.example.com'],
    ['api.example.com', 'http://api.example.com:443/v1', 'http://api.example.com:443'],
    ['http://api.example.com', 'https://api.example.com/v1', 'api.example.com'],
    ['*.example.com', 'https://example.com/v1', 'example.com'],
    ['*.example.com', 'https://evilexample.com/v1', 'evilexample.com'],
    ['127.0.0.1', 'https://127.0.0.2/v1', '127.0.0.2'],
  ])('%j: not sent to %s', (declared, baseUrl, host) => {
    expect(outcomeFor(declared, baseUrl)).toBe(`the key in UPSTREAM_KEY_TEST is not for ${host}: UPSTREAM_KEY_TEST_HOSTS does not name it`);
  });

  test.each([
    '*',
    '*.com',
    '*.*.example.com',
    'api.example.com/v1',
    'user@api.example.com',
    'ftp://api.example.com',
    'api.example.com?',
    '*.1.2.3.4:x',
  ])('the entry %s is no host, and is not repeated', (entry) => {
    expect(outcomeFor(`other.example, ${entry}`, 'https://api.example.com/v1')).toBe(
      'entry 2 of UPSTREAM_KEY_TEST_HOSTS is no host such as api.example.com, *.example.org:8443 or http://127.0.0.1:8000',
    );
  });

  test('a key without a declaration goes nowhere, and the message says what to set', () => {
    const words = 'the key in UPSTREAM_KEY_TEST is bound to no host: set UPSTREAM_KEY_TEST_HOSTS';
    expect([outcomeFor('', BASE_URL), outcomeFor(' ', 'http://127.0.0.1:9100/v1')]).toEqual([
      `${words}=api.example.com for the inference-proxy if that host may receive it`,
      `${words}=http://127.0.0.1:9100 for the inference-proxy if that host may receive it`,
    ]);
  });

  test('the declaration of a file is beside it, and is read again when it is replaced', () => {
    const apiKeyFile = put('key', 'sk-file');
    const outcomes = [readRefusal({ apiKeyFile })];
    for (const [turn, hosts] of ['other.example', 'api.example.com'].entries()) {
      put('key.hosts', hosts);
      performance.now = () => clock.call(performance) + 1_100 * (turn + 1);
      outcomes.push(readRefusal({ apiKeyFile }));
    }
    expect(outcomes).toEqual([
      `the secret in the file ${apiKeyFile} is bound to no host: write api.example.com into ${apiKeyFile}.hosts beside it if that host may receive it`,
      `the secret in the file ${apiKeyFile} is not for api.example.com: the file ${apiKeyFile}.hosts does not name it`,
      undefined,
    ]);
  });
});

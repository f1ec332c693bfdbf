import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '#config/load-config.js';
import { CliConfig } from './cli.config.js';
import { connectionSettings } from './connection.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-cli-'));
  mkdirSync(join(folder, '.local'));
});

afterEach(() => rmSync(folder, { recursive: true }));

const settings = (set: Partial<CliConfig> = {}) => connectionSettings(Object.assign(new CliConfig(), set), folder);

const leave = (file: string, content: string) => writeFileSync(join(folder, '.local', file), content);

test('environment variables override the files of npm start', () => {
  leave('demo.json', '{"natsUrl":"nats://demo:1"}');
  leave('secrets.json', '{"natsPasswords":{"cli":"demo"}}');
  expect(settings({ natsUrl: 'nats://set:2', natsCliPassword: 'set' })).toEqual({ url: 'nats://set:2', user: 'cli', password: 'set' });
});

test('without variables, reads the files of npm start', () => {
  leave('demo.json', '{"natsUrl":"nats://demo:1"}');
  leave('secrets.json', '{"natsPasswords":{"cli":"demo"}}');
  expect(settings()).toEqual({ url: 'nats://demo:1', user: 'cli', password: 'demo' });
});

test('a seed is used in place of the password of npm start', () => {
  leave('secrets.json', '{"natsPasswords":{"cli":"demo"}}');
  const access = { url: 'tls://set:2', user: 'cli', seed: 'SUxx', caFile: '/ca.pem' };
  expect(settings({ natsUrl: access.url, natsCliSeed: access.seed, natsCaFile: access.caFile })).toEqual(access);
});

test.each<[string, Record<string, string>, string]>([
  ['nothing', {}, 'NATS_URL and NATS_CLI_SEED or NATS_CLI_PASSWORD not set'],
  ['no password', { 'demo.json': '{"natsUrl":"nats://demo:1"}' }, 'NATS_CLI_SEED or NATS_CLI_PASSWORD not set'],
  [
    'no password of the cli',
    { 'demo.json': '{"natsUrl":"nats://demo:1"}', 'secrets.json': '{"natsPasswords":{}}' },
    'NATS_CLI_SEED or NATS_CLI_PASSWORD not set',
  ],
  ['a broken file', { 'demo.json': '{' }, 'not JSON'],
])('%s is a ConfigError of one line', (_, files, message) => {
  for (const [file, content] of Object.entries(files)) leave(file, content);
  const attempt = () => settings();
  expect(attempt).toThrow(ConfigError);
  expect(attempt).toThrow(message);
});

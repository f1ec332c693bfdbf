import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '#config/load-config.js';
import { connectionSettings } from './connection.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-cli-'));
  mkdirSync(join(folder, '.local'));
});

afterEach(() => rmSync(folder, { recursive: true }));

const leave = (file: string, content: string) => writeFileSync(join(folder, '.local', file), content);

test('environment variables override the files of npm start', () => {
  leave('demo.json', '{"natsUrl":"nats://demo:1"}');
  leave('secrets.json', '{"natsPasswords":{"cli":"demo"}}');
  expect(connectionSettings({ natsUrl: 'nats://set:2', natsCliPassword: 'set' }, folder)).toEqual({ url: 'nats://set:2', password: 'set' });
});

test('without variables, reads the files of npm start', () => {
  leave('demo.json', '{"natsUrl":"nats://demo:1"}');
  leave('secrets.json', '{"natsPasswords":{"cli":"demo"}}');
  expect(connectionSettings({ natsUrl: '', natsCliPassword: '' }, folder)).toEqual({ url: 'nats://demo:1', password: 'demo' });
});

test.each<[string, Record<string, string>, string]>([
  ['nothing', {}, 'NATS_URL and NATS_CLI_PASSWORD not set'],
  ['no password', { 'demo.json': '{"natsUrl":"nats://demo:1"}' }, 'NATS_CLI_PASSWORD not set'],
  [
    'no password of the cli',
    { 'demo.json': '{"natsUrl":"nats://demo:1"}', 'secrets.json': '{"natsPasswords":{}}' },
    'NATS_CLI_PASSWORD not set',
  ],
  ['a broken file', { 'demo.json': '{' }, 'not JSON'],
])('%s is a ConfigError of one line', (_, files, message) => {
  for (const [file, content] of Object.entries(files)) leave(file, content);
  const attempt = () => connectionSettings({ natsUrl: '', natsCliPassword: '' }, folder);
  expect(attempt).toThrow(ConfigError);
  expect(attempt).toThrow(message);
});

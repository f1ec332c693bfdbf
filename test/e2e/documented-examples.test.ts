import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { budgetSet } from '#contracts/billing/budgets.js';
import type { Messaging } from '#messaging/messaging.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';
import { parseCurl } from './documented-curl.js';
import { DescribedReplies } from './openapi-replies.js';

/**
 * Every documented example works unchanged: each `curl`, whose reply is checked against the OpenAPI document, and each JavaScript
 * program. Only the address is replaced; keys and passwords are in the environment.
 */

const { gatewayUrl, natsUrl, natsPasswords } = stack();
const ADDRESS = 'http://127.0.0.1:8080';
const PAGES = ['README.md', ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((file) => join('docs', file))];
const BLOCKS = PAGES.filter((page) => page.endsWith('.md')).flatMap(parseBlocks);
const CURLS = BLOCKS.filter(({ language }) => ['sh', 'bash', 'shell', 'console'].includes(language)).flatMap(({ where, code }) =>
  code
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.startsWith('curl '))
    .map((command) => ({ where, command })),
);
/** Programs that need Python alone: the client of NATS is no package of Debian. */
const PYTHON_PROGRAMS = BLOCKS.filter(({ language, code }) => language === 'python' && /^import json, os, socket/.test(code));
const HAS_PYTHON = spawnSync('python3', ['--version']).status === 0;
const PROGRAMS = BLOCKS.filter(({ language }) => ['js', 'javascript', 'ts', 'typescript'].includes(language));

let administrator: Messaging;
let tenant: Tenant;
let replies: DescribedReplies;
/** Id of a request of the key. */
let requestId: string;
let folder: string;

beforeAll(async () => {
  administrator = await connectAdministrator(stack());
  tenant = await createTenant(administrator);
  const { accountId, keyId } = tenant;
  await administrator.request(budgetSet, { accountId, keyId, dimension: 'child', period: 'total', limitPicoUsd: '2000000000000' });
  replies = await DescribedReplies.of(gatewayUrl);
  const response = await fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1 }),
  });
  requestId = response.headers.get('x-request-id') ?? '';
  // Inside the repository, so that imports resolve.
  mkdirSync('.local', { recursive: true });
  folder = mkdtempSync('.local/test-examples-');
});
afterAll(async () => {
  if (folder) rmSync(folder, { recursive: true, force: true });
  await administrator?.close();
});

interface Block {
  /** `page:line` of the first line. */
  where: string;
  language: string;
  code: string;
}

function parseBlocks(page: string): Block[] {
  const text = readFileSync(page, 'utf8');
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(({ 1: language = '', 2: code = '', index }) => ({
    where: `${page}:${text.slice(0, index).split('\n').length + 1}`,
    language,
    code: code.replaceAll(ADDRESS, gatewayUrl),
  }));
}

test('there are examples of both kinds', () => {
  expect([CURLS.length > 0, PROGRAMS.length > 1]).toEqual([true, true]);
});

test.each(CURLS)('$where: curl', async ({ command }) => {
  const { url, init } = parseCurl(command, { TOLLGATE_KEY: tenant.apiKey, REQUEST_ID: requestId });
  const { status, faults } = await replies.read(url, await fetch(url, init));
  expect({ status, faults }).toEqual({ status: 200, faults: [] });
});

test.each(PROGRAMS)('$where: a program', async ({ code }) => {
  const file = join(folder, 'example.mjs');
  writeFileSync(file, code);
  await promisify(execFile)(process.execPath, [file], { env: makeEnvironment(), timeout: 30_000 });
});

function makeEnvironment() {
  const nats = { NATS_URL: natsUrl, NATS_INTERNAL_PASSWORD: natsPasswords.internal, NATS_CRAWLER_PASSWORD: natsPasswords.crawler };
  return { PATH: process.env.PATH, HOME: process.env.HOME, TOLLGATE_KEY: tenant.apiKey, ...nats };
}

test('there is a program of Python', () => expect(PYTHON_PROGRAMS).toHaveLength(1));

// Without python3 on PATH they are skipped.
(HAS_PYTHON ? test : test.skip).each(PYTHON_PROGRAMS)('$where: a program of Python', async ({ code }) => {
  const file = join(folder, 'example.py');
  writeFileSync(file, code);
  const { stdout } = await promisify(execFile)('python3', [file], { env: makeEnvironment(), timeout: 30_000 });
  expect(stdout).toContain("'status': 'settled'");
});

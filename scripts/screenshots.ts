/**
 * `npm run screenshots`: makes the pictures of docs/images from the pages of a system with demo traffic. Takes two minutes. Starts a system
 * of its own and stops it.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { ensureBuilt } from './local/build.ts';
import { findChromium } from './local/chromium.ts';
import { runDemoTraffic } from './local/demo-traffic.ts';
import { ensureDependencies } from './local/dependencies.mjs';
import { LOCAL, ROOT } from './local/project.mjs';
import { commandLine } from './local/seed.ts';
import { removeStack, startStack } from './local/stack.ts';
import { createStatus } from './local/status.mjs';
import { untilSettled } from './local/until-settled.ts';

const IMAGES = join(ROOT, 'docs/images');
const SCHEMES = ['light', 'dark'] as const;
const PASSWORD = 'a quiet orange river';
const VIEWPORT = { width: 1440, height: 900 };

const status = createStatus();
await ensureDependencies(status, { tests: true });
await ensureBuilt(status);
const { chromium } = await import('playwright-core');
const { default: pg } = await import('pg');
const { executablePath, env } = await findChromium(status);
const dataDir = join(LOCAL, `screenshots-${randomUUID()}`);
const abort = new AbortController();
process.once('SIGINT', () => abort.abort());
const stack = await startStack({ dataDir, quiet: true, signal: abort.signal });
try {
  await runDemoTraffic({ dataDir, stack, say: status.say, signal: abort.signal });
  await spreadOverDay();
  const browser = await chromium.launch({ executablePath, env: { ...process.env, ...env }, args: ['--no-sandbox'] });
  try {
    await takePictures(browser);
  } finally {
    await browser.close();
  }
} finally {
  await stack.stop();
  removeStack(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
}

/** Moves most of the bills back by up to a day, so that a chart by hours has more than the bar of these two minutes. */
async function spreadOverDay(): Promise<void> {
  const database = new pg.Client({ connectionString: stack.databaseUrl });
  await database.connect();
  try {
    await database.query(`
      ALTER TABLE billing.settlement DISABLE TRIGGER settlement_is_immutable;
      UPDATE billing.settlement SET settled_at = settled_at - back, reserved_at = reserved_at - back
      FROM (SELECT hold_id AS id, interval '1 hour' * floor(24 * power((hashtext(hold_id::text) & 1023) / 1024.0, 1.3)) AS back
            FROM billing.settlement) moved
      WHERE id = hold_id;
      ALTER TABLE billing.settlement ENABLE TRIGGER settlement_is_immutable`);
  } finally {
    await database.end();
  }
  await commandLine({ natsUrl: stack.natsUrl, natsPassword: stack.natsPasswords.cli })('usage', 'rebuild');
}

async function takePictures(browser: Browser): Promise<void> {
  mkdirSync(IMAGES, { recursive: true });
  const storageState = await signIn(browser);
  for (const colorScheme of SCHEMES) {
    const context = await browser.newContext({
      baseURL: stack.panelUrl,
      viewport: VIEWPORT,
      colorScheme,
      storageState,
      deviceScaleFactor: 1.5,
    });
    const page = await context.newPage();
    await page.goto(`/panel/a/${stack.accountId}/overview`);
    await picture(page, `overview-${colorScheme}`);
    await page.goto(`/panel/a/${stack.accountId}/requests`);
    await untilSettled(page);
    await dearest(page).click();
    await page.waitForURL('**/requests/*');
    await picture(page, `request-${colorScheme}`);
    await context.close();
  }
}

type Session = Awaited<ReturnType<BrowserContext['storageState']>>;

/** Accepts the printed link. Returns the session's cookies. */
async function signIn(browser: Browser): Promise<Session> {
  const page = await browser.newPage();
  await page.goto(stack.panelLink ?? stack.panelUrl);
  await page.getByLabel('E-mail').fill('ada@example.com');
  await page.getByLabel('Name').fill('Ada');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Continue' }).click();
  await untilSettled(page);
  const state = await page.context().storageState();
  await page.close();
  return state;
}

/** A finished request with a long reply: its page has every part. */
function dearest(page: Page): Locator {
  return page.getByRole('row').filter({ hasText: 'Completed' }).first().getByRole('link').first();
}

async function picture(page: Page, name: string): Promise<void> {
  await untilSettled(page);
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
  status.say('picture', `docs/images/${name}.png`);
}

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { type PanelRole, panelInvite } from '#contracts/panel.js';
import type { Messaging } from '#messaging/messaging.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import { untilSettled } from '../../scripts/local/until-settled.ts';

export { untilSettled };

/** Set by `npm test` when there is a Chromium. Without one, the suite is skipped, or fails if `CI` is set. */
const FOUND = process.env.TEST_CHROMIUM;
// Left out on machines that have no Chromium and cannot fetch one.
export const describeWithBrowser = FOUND ? describe : describe.skip;

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const PASSWORD = 'a quiet orange river';
export type Scheme = 'light' | 'dark';

export function launchBrowser(): Promise<Browser> {
  const { executablePath, env } = JSON.parse(FOUND ?? '{}') as { executablePath: string; env: Record<string, string> };
  return chromium.launch({ executablePath, env: { ...process.env, ...env }, args: ['--no-sandbox'] });
}

interface Shared {
  browser: Browser;
  administrator: Messaging;
}

/** Opens a browser and an operator's connection to the shared system before the tests of a suite, and closes them afterwards. */
export function sharedBrowser(): Shared {
  const shared = {} as Shared;
  beforeAll(async () => {
    shared.administrator = await connectAdministrator(stack());
    shared.browser = await launchBrowser();
  });
  afterAll(async () => {
    await shared.browser?.close();
    await shared.administrator?.close();
  });
  return shared;
}

/** A page and everything that its console reported as an error or a warning: exceptions, failed loads, violations of the content policy. */
export interface WatchedPage {
  page: Page;
  problems: string[];
}

export async function openPage(
  browser: Browser,
  {
    origin,
    cookie,
    scheme = 'light',
    width = 1440,
    height = 900,
  }: { origin: string; cookie?: string; scheme?: Scheme; width?: number; height?: number },
): Promise<WatchedPage> {
  const context = await browser.newContext({ baseURL: origin, viewport: { width, height }, colorScheme: scheme, reducedMotion: 'reduce' });
  if (cookie) await addCookie(context, origin, cookie);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  return { page, problems };
}

async function addCookie(context: BrowserContext, origin: string, cookie: string): Promise<void> {
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url: origin }]);
}

/** Makes a person by invite and returns the cookie of their session. */
export async function signInByInvite(
  administrator: Messaging,
  panelUrl: string,
  { email, role, accountId, projectId }: { email: string; role: PanelRole; accountId?: string; projectId?: string },
): Promise<string> {
  const { link } = await administrator.request(panelInvite, { role, accountId, projectId, email });
  const response = await fetch(`${panelUrl}/panel/v1/invites/accept`, {
    method: 'POST',
    headers: { origin: panelUrl, 'content-type': 'application/json' },
    body: JSON.stringify({ token: new URL(link).hash.slice(1), password: PASSWORD }),
  });
  if (response.status !== 201) throw new Error(await response.text());
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/**
 * Opens a page of the panel in the light scheme at 1440 pixels, then in the dark one, then at 360. Returns what is wrong with it: problems of
 * the console, findings of axe in both schemes, and the pixels by which it is too wide.
 */
export async function examine({ page, problems }: WatchedPage, path: string) {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(path);
  await untilSettled(page);
  const light = await axeFindings(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await axeFindings(page, ['color-contrast']);
  await page.setViewportSize({ width: 360, height: 780 });
  const excess = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  return { problems: problems.splice(0), light, dark, excess };
}

/** Returns what axe finds on a page. `rules`: only these. */
export async function axeFindings(page: Page, rules?: string[]): Promise<object[]> {
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate(
    `axe.run(${JSON.stringify({ ...(rules && { runOnly: rules }), resultTypes: ['violations'] })})`,
  )) as { violations: { id: string; nodes: { html: string }[] }[] };
  return violations.map(({ id, nodes }) => ({ id, elements: nodes.map(({ html }) => html.slice(0, 200)) }));
}

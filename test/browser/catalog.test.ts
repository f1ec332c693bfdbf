import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { catalogApply } from '#contracts/catalog.js';
import { catalogGet } from '#contracts/catalog-revisions.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, launchBrowser, openPage, signInByInvite, untilSettled } from './browser.js';

/** The catalog in the browser, on a system of its own, because it changes prices. */
const FILE = readFileSync('config/catalog.yaml', 'utf8');
/** Number of the line whose fault the test makes. */
const LINE = FILE.split('\n').findIndex((line) => line.includes('contextTokens: 131072')) + 1;
const PRICE = 'outputUsdPerMTok: "0.60"';

describeWithBrowser('the catalog', () => {
  let stack: RunningStack;
  let administrator: Messaging;
  let browser: Browser;
  let cookie: string;
  beforeAll(async () => {
    stack = await startPrivateStack({ layout: 'all', services: ['billing', 'catalog', 'panel'] });
    administrator = await connectAdministrator(stack);
    cookie = await signInByInvite(administrator, stack.panelUrl, { email: 'ann@example.com', role: 'admin' });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await administrator?.close();
    await stack?.stop();
  });

  const open = async (tab: string) => {
    const { page, problems } = await openPage(browser, { origin: stack.panelUrl, cookie });
    await page.goto(`/panel/a/all/models?tab=${tab}`);
    await untilSettled(page);
    return { page, problems };
  };

  test('the page of all accounts names the services that share the process', async () => {
    const { page } = await openPage(browser, { origin: stack.panelUrl, cookie });
    await page.goto('/panel/a/all/overview');
    await page.getByText('One process runs panel, billing, and catalog.').waitFor();
    await page.context().close();
  });

  test('a text shows its faults, then its difference; an apply that comes second shows the new difference, and then applies', async () => {
    const { page } = await open('file');
    const text = page.getByLabel('Text of the catalog file');
    const compare = page.getByRole('button', { name: 'Show the difference' });
    await text.fill(FILE.replace('contextTokens: 131072', 'contextTokens: many'));
    await compare.click();
    await page
      .getByRole('list', { name: 'Faults' })
      .getByRole('button', { name: `Line ${LINE}`, exact: true })
      .click();
    expect(await page.evaluate('getSelection().toString().trim()')).toMatch(/^contextTokens: many/);

    await text.fill(FILE.replace(PRICE, 'outputUsdPerMTok: "0.80"'));
    await compare.click();
    await page.getByRole('cell', { name: '$0.15 / $0.015 / $0.80' }).waitFor();
    await administrator.request(catalogApply, { yaml: FILE.replace(PRICE, 'outputUsdPerMTok: "0.70"') });
    const apply = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Apply', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Apply', exact: true }).click();
    };
    await apply();
    await page.getByText('applied revision 2 meanwhile').waitFor();
    await page.getByRole('cell', { name: '$0.15 / $0.015 / $0.70' }).waitFor();
    await apply();
    await page.getByText('revision 3, by').waitFor();
    expect(await text.inputValue()).toBe(FILE.replace(PRICE, 'outputUsdPerMTok: "0.80"'));
    await page.context().close();
  });

  test('a model is written into the text by a form, shown as a difference and applied', async () => {
    const { page, problems } = await open('file');
    const text = page.getByLabel('Text of the catalog file');
    await page.getByRole('button', { name: 'New model' }).click();
    const form = page.getByRole('dialog');
    const write = form.getByRole('button', { name: 'Write into the file' });
    await form.getByLabel('Id', { exact: true }).fill('sim-fast');
    await form.getByText('The file has a model of this id.').waitFor();
    await form.getByLabel('Context, tokens').fill('32,768');
    await form.getByLabel('Longest reply, tokens').fill('65536');
    await form.getByText('It must not be above the context.').waitFor();
    await form.getByLabel('Output, USD per million tokens', { exact: true }).fill('0,60');
    await form.getByText('Write cents with a point: 0.60').waitFor();
    expect({ findings: await axeFindings(page), isReady: await write.isEnabled() }).toEqual({ findings: [], isReady: false });
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 780 });
    expect({
      findings: await axeFindings(page, ['color-contrast']),
      excess: await page.evaluate('(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("dialog"))'),
    }).toEqual({ findings: [], excess: 0 });
    await form.getByLabel('Id', { exact: true }).fill('qwen/qwen3-8b');
    await form.getByLabel('Upstream', { exact: true }).selectOption('standby');
    await form.getByLabel('Name at the upstream').fill('sim-fast');
    await form.getByLabel('Longest reply, tokens').fill('4096');
    await form.getByLabel('Input, USD per million tokens', { exact: true }).fill('0.123456');
    await form.getByLabel('Output, USD per million tokens', { exact: true }).fill('0.60');
    await form.getByLabel('Cache write, USD').fill('0.20');
    await form.getByLabel('Takes images').check();
    await write.click();
    await form.waitFor({ state: 'detached' });
    expect(await page.evaluate('getSelection().toString().trim()')).toBe('- id: "qwen/qwen3-8b"');
    const changed = await text.inputValue();
    await page.getByRole('button', { name: 'Show the difference' }).click();
    await page
      .getByRole('row', { name: /Added qwen\/qwen3-8b/ })
      .getByText('$0.123456 / $0.123456 / $0.60 / $0.20 cache write')
      .waitFor();
    expect(problems).toEqual([]);
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Apply', exact: true }).click();
    await page.getByRole('button', { name: 'Discard changes' }).waitFor({ state: 'detached' });
    expect(await administrator.request(catalogGet, {})).toMatchObject({ yaml: changed });
    const lines = changed.split('\n');
    expect(lines.splice(lines.indexOf('  - id: "qwen/qwen3-8b"'), 7)).toEqual([
      '  - id: "qwen/qwen3-8b"',
      '    ownedBy: us',
      '    contextTokens: 32768',
      '    maxOutputTokens: 4096',
      '    input: [text, image]',
      '    price: { inputUsdPerMTok: "0.123456", cachedInputUsdPerMTok: "0.123456", cacheWriteUsdPerMTok: "0.20", outputUsdPerMTok: "0.60" }',
      '    routes: [{ upstream: "standby", model: "sim-fast" }]',
    ]);
    await page.context().close();
  });

  test('a price is scheduled with a countdown, and cancelled', async () => {
    const { page, problems } = await open('scheduled');
    await page.getByRole('button', { name: 'Schedule a price' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Model').selectOption('sim-reason');
    await form.getByLabel('Output, USD').fill('2.50');
    await form.getByLabel('Takes effect').fill('2098-01-01T12:00:00');
    await form.getByLabel('Reason').fill('cheaper hardware');
    await form.getByRole('button', { name: 'Schedule', exact: true }).click();
    const row = page.getByRole('row', { name: /sim-reason/ });
    await row.getByText('$2.50').waitFor();
    await row.getByText(/in \d+ days/).waitFor();
    await row.getByText('cheaper hardware').waitFor();
    await row.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the price' }).click();
    await page.getByText('No price is scheduled').waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });
});

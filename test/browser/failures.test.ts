import { randomUUID } from 'node:crypto';
import type { Page, Route } from 'playwright-core';
import { stack } from '#testing/stack.js';
import { createTenant } from '#testing/tenant.js';
import { describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** The panel's API fails: every page says so, with a button, and recovers. */

const OF_ACCOUNT = ['overview', 'usage', 'requests', 'projects', 'keys', 'playground', 'budgets', 'money', 'models', 'members', 'audit'];
const OF_PLATFORM = ['overview', 'usage', 'requests', 'members', 'audit', 'accounts', 'upstreams', 'margin', 'ledger'];
const TABS = ['scheduled', 'file', 'history'];
const API = '**/panel/v1/**';
/** Calls that open the frame of a page; a test of its own lets them fail. */
const OPENING = /\/panel\/v1\/(me|accounts\?limit=200)$/;

const UNAVAILABLE = { message: 'The service billing does not answer.', type: 'api_error', param: null, code: 'unavailable' };

/** Ways in which the API fails, with the text that a page shows. */
const FAILURES: Record<string, { fail: (route: Route) => Promise<void>; texts: string[] }> = {
  'with 503': {
    fail: (route) => route.fulfill({ status: 503, headers: { 'x-request-id': 'req_of_the_failure' }, json: { error: UNAVAILABLE } }),
    texts: ['The service billing does not answer.', 'Request id req_of_the_failure'],
  },
  'with 500': {
    fail: (route) =>
      route.fulfill({
        status: 500,
        headers: { 'x-request-id': 'req_of_the_failure' },
        json: { error: { ...UNAVAILABLE, message: 'The panel failed.', code: 'internal_error' } },
      }),
    texts: ['The panel failed.', 'Request id req_of_the_failure'],
  },
  'without a connection': { fail: (route) => route.abort('connectionrefused'), texts: ['The panel does not answer.'] },
  'by not answering': { fail: () => Promise.resolve(), texts: ['The panel is slow to answer.'] },
};

/** A page shows 500 as it shows 503, without trying again by itself. */
const SWEPT = Object.entries(FAILURES).flatMap(([how, failure]) => (how === 'with 500' ? [] : [failure]));
/** Pages that fail at once: one whose calls hang costs time and no work. */
const PAGES_AT_ONCE = 8;

describeWithBrowser('pages whose calls fail', () => {
  const { panelUrl: origin } = stack();
  const shared = sharedBrowser();
  let cookie: string;
  let paths: string[];

  beforeAll(async () => {
    const { accountId } = await createTenant(shared.administrator);
    cookie = await signInByInvite(shared.administrator, origin, { email: `${randomUUID()}@example.com`, role: 'admin' });
    paths = [
      ...OF_ACCOUNT.map((name) => `/panel/a/${accountId}/${name}`),
      ...OF_PLATFORM.map((name) => `/panel/a/all/${name}`),
      ...TABS.map((tab) => `/panel/a/all/models?tab=${tab}`),
      `/panel/requests/req_${'0'.repeat(32)}`,
      '/panel/profile',
    ];
  });

  /** Waits until a page says that its calls fail, with a button. */
  async function findFailure(page: Page, texts: string[]): Promise<void> {
    const alert = texts.reduce((found, hasText) => found.filter({ hasText }), page.locator('main').getByRole('alert'));
    await alert.getByRole('button', { name: 'Try again' }).waitFor();
  }

  /** Lets the calls of a page fail in the way that is returned, until it is undefined; what hangs stays so. Those of `passes` never fail. */
  async function failCalls(page: Page, passes?: RegExp): Promise<{ fail?: ((route: Route) => Promise<void>) | undefined }> {
    const way: Awaited<ReturnType<typeof failCalls>> = {};
    await page.route(API, (route) => (way.fail && !passes?.test(route.request().url()) ? way.fail(route) : route.continue()));
    return way;
  }

  /** Clicks "Try again", unless the page has tried again by itself and recovered. */
  async function tryAgain(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Try again' }).evaluateAll((buttons: { click?: () => void }[]) => buttons[0]?.click?.());
  }

  async function recover(page: Page): Promise<void> {
    await tryAgain(page);
    await page.getByRole('button', { name: 'Try again' }).waitFor({ state: 'detached' });
    await untilSettled(page);
  }

  test('every page says so in each way that calls fail, and recovers [money-failed-page]', async () => {
    const waiting = paths.entries();
    const sweep = async (): Promise<void> => {
      const { page } = await openPage(shared.browser, { origin, cookie });
      const way = await failCalls(page, OPENING);
      for (const [index, path] of waiting) {
        // Each way is the first one, before any data has come, of every third page.
        const ways = [...SWEPT.slice(index % SWEPT.length), ...SWEPT.slice(0, index % SWEPT.length)];
        for (const { fail, texts } of ways) {
          const isFirst = way.fail === undefined;
          way.fail = fail;
          await (isFirst ? page.goto(path) : tryAgain(page));
          await findFailure(page, texts);
        }
        way.fail = undefined;
        await recover(page);
      }
      await page.context().close();
    };
    await Promise.all(Array.from({ length: PAGES_AT_ONCE }, sweep));
  });

  test.each(Object.entries(FAILURES))(
    'so does the panel before it knows who asks: %s [money-failed-page]',
    async (_how, { fail, texts }) => {
      const { page } = await openPage(shared.browser, { origin, cookie });
      const way = await failCalls(page);
      way.fail = fail;
      await page.goto('/panel/');
      await findFailure(page, texts);
      way.fail = undefined;
      await recover(page);
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();
      await page.context().close();
    },
  );

  test('the sign-in says so too', async () => {
    const { page } = await openPage(shared.browser, { origin });
    await page.route('**/panel/v1/sso', (route) => route.abort('connectionrefused'));
    await page.goto('/panel/');
    await page.getByRole('alert').getByText('The panel does not answer.').waitFor();
    await page.unroute('**/panel/v1/sso');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByLabel('Password').waitFor();
    await page.context().close();
  });
});

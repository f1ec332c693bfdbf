import { startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** The page Services, on systems of its own, because services of them stop. */
describeWithBrowser('services', () => {
  const shared = sharedBrowser();

  test('a replica that stops becomes gone, and its service has none that answers', async () => {
    const own = await startPrivateStack({ layout: 'split', services: ['billing', 'catalog', 'panel'] });
    const administrator = await connectAdministrator(own);
    try {
      const cookie = await signInByInvite(administrator, own.panelUrl, { email: 'ann@example.com', role: 'auditor' });
      const { page, problems } = await openPage(shared.browser, { origin: own.panelUrl, cookie });
      await page.goto('/panel/a/all/services');
      await untilSettled(page);
      const states = page.getByRole('region', { name: 'Replicas of all services' }).locator('tbody tr');
      const read = async () => (await states.allInnerTexts()).map((text) => text.split(/\s+/).slice(0, 2).join(' '));
      expect(await read()).toEqual(['billing Ready', 'catalog Ready', 'panel Ready']);
      await page.getByText('no replica of gateway and inference-proxy answers').waitFor();
      await own.hold('catalog');
      await page.getByText(/no answer since/).waitFor();
      await page.getByText('no replica of gateway, inference-proxy, and catalog answers').waitFor();
      expect({ states: await read(), findings: await axeFindings(page), problems }).toEqual({
        states: ['billing Ready', 'catalog Gone', 'panel Ready'],
        findings: [],
        problems: [],
      });
      await page.context().close();
    } finally {
      await administrator.close();
      await own.stop();
    }
  });

  test('services of one process name one another', async () => {
    const own = await startPrivateStack({ layout: 'all', services: ['billing', 'catalog', 'panel'] });
    const administrator = await connectAdministrator(own);
    try {
      const cookie = await signInByInvite(administrator, own.panelUrl, { email: 'ann@example.com', role: 'auditor' });
      const { page } = await openPage(shared.browser, { origin: own.panelUrl, cookie });
      await page.goto('/panel/a/all/services');
      await page.getByText('also runs catalog and panel').waitFor();
      await page.getByText('also runs billing and panel').waitFor();
      await page.getByText('also runs billing and catalog').waitFor();
      await page.context().close();
    } finally {
      await administrator.close();
      await own.stop();
    }
  });
});

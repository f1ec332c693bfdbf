import { catalogGet } from '#contracts/catalog-revisions.js';
import { startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import { axeFindings, describeWithBrowser, openPage, sharedBrowser, signInByInvite, untilSettled } from './browser.js';

/** Adding an upstream, on a system of its own, because it changes the catalog. */
describeWithBrowser('upstreams', () => {
  const shared = sharedBrowser();

  test('an upstream is added to the catalog file and tested, and a wrong entry adds nothing', async () => {
    const own = await startPrivateStack({ layout: 'all', services: ['billing', 'catalog', 'upstream-sim', 'inference-proxy', 'panel'] });
    const administrator = await connectAdministrator(own);
    try {
      const cookie = await signInByInvite(administrator, own.panelUrl, { email: 'ann@example.com', role: 'admin' });
      const { page, problems } = await openPage(shared.browser, { origin: own.panelUrl, cookie });
      await page.goto('/panel/a/all/upstreams');
      await untilSettled(page);
      const url = `${own.upstreamUrl}/v1`;
      const before = await administrator.request(catalogGet, {});
      await page.getByRole('button', { name: 'Add upstream' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Id').fill('a name with spaces');
      await dialog.getByLabel('URL').fill(url);
      await dialog.getByLabel('Model to test').fill('sim-fast');
      await dialog.getByRole('button', { name: 'Add and test' }).click();
      await dialog.getByRole('alert').waitFor();
      expect({ findings: await axeFindings(page), revision: (await administrator.request(catalogGet, {})).revision }).toEqual({
        findings: [],
        revision: before.revision,
      });
      await dialog.getByLabel('Id').fill('second');
      await dialog.getByLabel('Network').selectOption('private');
      await dialog.getByRole('button', { name: 'Add and test' }).click();
      await page.getByText('Serves text').waitFor();
      const { revision, yaml } = await administrator.request(catalogGet, {});
      expect({ revision, adds: yaml?.includes(`- id: "second"\n    kind: openai-chat\n    baseUrl: "${url}"`) }).toEqual({
        revision: before.revision + 1,
        adds: true,
      });
      await page.getByRole('dialog').getByRole('link', { name: 'Add a model' }).click();
      const file = page.getByLabel('Text of the catalog file');
      await page.getByRole('button', { name: 'Discard changes' }).waitFor();
      const [draft, stored] = [await file.inputValue(), (await administrator.request(catalogGet, {})).revision];
      expect({ drafts: draft.includes('routes: [{ upstream: "second", model: "sim-fast" }]'), stored }).toEqual({
        drafts: true,
        stored: revision,
      });
      await page.getByRole('button', { name: 'Show the difference' }).click();
      await page.getByText('3 faults: nothing can be applied yet.').waitFor();
      await file.fill(draft.replaceAll('"your price"', '"0.20"'));
      await page.getByRole('button', { name: 'Show the difference' }).click();
      await page.getByText('1 model added').waitFor();
      await page.goto('/panel/a/all/upstreams');
      const link = page.getByText('No model has a route to').getByRole('link', { name: 'second' });
      await link.waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await link.click();
      await page.getByRole('heading', { name: 'No model has a route to it' }).waitFor();
      await page.getByText(url).waitFor();
      await page.getByRole('button', { name: 'Test', exact: true }).click();
      await dialog.getByLabel('Model to test').fill('sim-embed');
      expect(await axeFindings(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Start test' }).click();
      await dialog.getByText(/vectors of \d+ dimensions/).waitFor();
      expect(problems.filter((problem) => !problem.includes('400'))).toEqual([]);
      await page.context().close();
    } finally {
      await administrator.close();
      await own.stop();
    }
  });
});

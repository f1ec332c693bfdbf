import type { Page } from 'playwright-core';

/** Resolves when a page of the panel shows its data: it has a heading, and nothing in it is loading. */
export async function untilSettled(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor();
  await page.locator('[aria-busy="true"], [class*="skeleton" i]').first().waitFor({ state: 'detached' });
}

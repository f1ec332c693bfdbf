import type { Page } from 'playwright-core';

export function untilSettled(page: Page): Promise<void>;

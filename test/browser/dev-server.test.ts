import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { stack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import { freePort } from '../../scripts/local/ports.ts';
import { signInByInvite } from './browser.js';

/** Vite's server, with which one works on the pages. */

const VITE = ['node_modules/vite/bin/vite.js', 'apps/panel/ui'];
const environment = (panelUrl: string) => ({ ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', PANEL_URL: panelUrl });

/** Waits for a line with `text`, and keeps on reading: a process whose output is closed ends. */
function readLine(output: Readable, text: string): Promise<void> {
  return new Promise((resolve) => createInterface(output).on('line', (line) => line.includes(text) && resolve()));
}

test('pages of vite sign in at the running panel and call it', async () => {
  const origin = `http://127.0.0.1:${await freePort()}`;
  const vite = spawn(process.execPath, [...VITE, '--port', new URL(origin).port, '--strictPort'], { env: environment(stack().panelUrl) });
  const administrator = await connectAdministrator(stack());
  try {
    await Promise.race([readLine(vite.stdout, origin), once(vite, 'exit')]);
    const email = `${randomUUID()}@example.com`;
    const cookie = await signInByInvite(administrator, origin, { email, role: 'admin' });
    const me = await fetch(`${origin}/panel/v1/me`, { headers: { cookie } });
    const page = await fetch(`${origin}/panel/keys`, { headers: { accept: 'text/html' } });
    expect({ status: me.status, person: await me.json(), page: await page.text() }).toMatchObject({
      status: 200,
      person: { email },
      page: expect.stringContaining('/panel/src/app/main.tsx'),
    });
  } finally {
    await administrator.close();
    if (vite.kill()) await once(vite, 'exit');
  }
});

test('where no panel runs, vite says so and stops', async () => {
  const panelUrl = `http://127.0.0.1:${await freePort()}`;
  const failure = await promisify(execFile)(process.execPath, VITE, { env: environment(panelUrl) }).catch((error) => error);
  expect({ code: failure.code, text: failure.stderr }).toEqual({
    code: 1,
    text: expect.stringContaining(`no panel answers at ${panelUrl}: run npm start, or name a panel with PANEL_URL`),
  });
});

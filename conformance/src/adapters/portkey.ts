import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FormatName } from '../formats/format.ts';
import { type Model, routeUrl } from '../models.ts';
import type { Adapter, Address, Product, Surroundings } from './adapter.ts';
import { freePort, startProgram } from './program.ts';

const VERSION = '1.15.2';
/** For streams it appends headers to the upstream's reply, whose headers are read-only in Node's `fetch`. This copies them first. */
const COPY_HEADERS = `data:text/javascript,${encodeURIComponent(
  'const readOnly = fetch; globalThis.fetch = async (...asked) => { const reply = await readOnly(...asked); Object.defineProperty(reply, "headers", { value: new Headers(reply.headers) }); return reply; };',
)}`;
const NO_MONEY = 'the gateway on npm has no balances, budgets or bills';

/** Portkey's open-source gateway from npm. */
export const portkey: Adapter = {
  name: 'portkey',
  about: `Portkey's gateway ${VERSION} from npm, with headers of replies made writable, without which each of its streams ends with a 500 on this Node`,
  reasons: {
    wallet: NO_MONEY,
    budget: NO_MONEY,
    'price change': NO_MONEY,
    kill: 'it is one process without state: nothing is left to compare',
    'repeated settlement': NO_MONEY,
    'hidden output': NO_MONEY,
  },
  start,
};

async function start({ folder, settings, upstreamOrigin, say }: Surroundings): Promise<Product> {
  const packages = settings.portkey ?? folder;
  const script = join(packages, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (!existsSync(script)) {
    say(`portkey: installing @portkey-ai/gateway@${VERSION}`);
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save'];
    await promisify(execFile)('npm', ['install', '--prefix', packages, ...options, `@portkey-ai/gateway@${VERSION}`]);
  }
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const program = await startProgram({
    command: process.execPath,
    args: ['--import', COPY_HEADERS, script, `--port=${port}`, '--headless'],
    env: { NODE_ENV: 'production', PORT: String(port) },
    url: baseUrl,
  });
  return {
    baseUrl,
    version: VERSION,
    address: (client, model) => findAddress(client, model, upstreamOrigin),
    waits: { settledMs: 0, noticedMs: 0, meteredMs: 0, recoveredMs: 0 },
    stop: program.stop,
  };
}

/** Its configuration goes with each request. Chat goes to both vendors, the two other formats pass through to their own. */
function findAddress(client: FormatName, model: Model, origin: string): Address | undefined {
  if (client !== model.format && !(client === 'chat' && model.format === 'messages')) return undefined;
  const provider = model.format === 'messages' ? 'anthropic' : 'openai';
  const targets = Array.from({ length: model.routes }, (_, route) => ({
    provider,
    api_key: 'kit',
    custom_host: routeUrl(origin, model, route),
  }));
  const config = { strategy: { mode: model.routes > 1 ? 'fallback' : 'single' }, targets };
  return { model: 'scripted', headers: { 'x-portkey-config': JSON.stringify(config) } };
}

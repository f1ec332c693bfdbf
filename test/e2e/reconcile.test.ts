import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { offerModels, withdrawModels } from '#testing/offered-models.js';
import { catalogStack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';
import type { UsageComparison } from '../../apps/cli/src/reconcile/compare-usage.js';
import { runCli } from '../../apps/cli/src/run-cli.js';
import { startSimServer } from '../../apps/upstream-sim/src/sim-server.js';

/** A vendor that bills more than its replies said is named, with the model and the day. */

const stack = catalogStack();
const [administrator, sim] = await Promise.all([connectAdministrator(stack), startSimServer({ host: '127.0.0.1', port: 0 })]);
const { apiKey } = await createTenant(administrator);
const folder = await mkdtemp(join(tmpdir(), 'reconcile-'));
const model = (id: string, name: string) => ({
  ...{ id, ownedBy: 'tollgate', contextTokens: 131_072, maxOutputTokens: 200 },
  price: { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0.1', outputUsdPerMTok: '2' },
  routes: [{ upstream: 'reconciled', model: name }],
});
const entries = {
  upstreams: [{ id: 'reconciled', kind: 'openai-chat', baseUrl: `${sim.url}/v1`, allowPrivateNetwork: true }],
  models: [model('reconcile-fast', 'sim-fast'), model('reconcile-vision', 'sim-vision')],
};
await offerModels(administrator, stack, apiKey, entries);
afterAll(async () => {
  await withdrawModels(administrator, entries);
  await Promise.all([administrator.close(), sim.close(), rm(folder, { recursive: true })]);
});

/** 1,000 tokens by the rule of the simulator, and a reply of 100. */
const PROMPT = 'Hi [[sim tokens=100]] '.padEnd(4_000, 'a');

interface Billed {
  created: number;
  usage: { prompt_tokens: number; completion_tokens: number };
}

async function ask(id: string): Promise<Billed> {
  const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: id, messages: [{ role: 'user', content: PROMPT }] }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Billed;
}

test('a simulator that overstates the usage of a model by three percent is named [vendor-usage-compared]', async () => {
  const day = new Date().toISOString().slice(0, 10);
  const usages = [await ask('reconcile-fast'), await ask('reconcile-vision')].map(({ usage }) => usage);
  const invoice = (factors: [fast: number, vision: number]) => {
    const names = ['sim-fast', 'sim-vision'];
    const lines = usages.map(({ prompt_tokens, completion_tokens }, index) => {
      const factor = factors[index] ?? 1;
      return [day, names[index], 1, prompt_tokens * factor, completion_tokens * factor].join(',');
    });
    return ['date,model,requests,input_tokens,output_tokens', ...lines, ''].join('\n');
  };
  const reconcile = async (text: string): Promise<{ code: number; differences: UsageComparison['differences'] }> => {
    const file = join(folder, 'invoice.csv');
    await writeFile(file, text);
    let out = '';
    const write = (written: string) => {
      out += written;
    };
    const args = ['reconcile', file, '--upstream', 'reconciled', '--json'];
    const code = await runCli(args, { writeOut: write, writeErr: write }, () => connectAdministrator(stack));
    return { code, differences: (JSON.parse(out) as UsageComparison).differences };
  };
  expect(usages).toEqual(usages.map(() => expect.objectContaining({ prompt_tokens: 1_000, completion_tokens: 100 })));
  expect(await reconcile(invoice([1, 1]))).toEqual({ code: 0, differences: [] });
  expect(await reconcile(invoice([1, 1.03]))).toEqual({
    code: 1,
    differences: [
      { day, model: 'sim-vision', count: 'prompt', journal: 1_000, vendor: 1_030, percent: 3 },
      { day, model: 'sim-vision', count: 'output', journal: 100, vendor: 103, percent: 3 },
    ],
  });
});

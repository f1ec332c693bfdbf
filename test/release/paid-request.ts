import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../../scripts/local/project.mjs';

interface CatalogFile {
  models: { id: string; price: Record<'inputUsdPerMTok' | 'cachedInputUsdPerMTok' | 'outputUsdPerMTok', string> }[];
}
interface Reply {
  usage: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details?: { cached_tokens: number } };
}
interface Bill {
  settlement: { cost_pico_usd: string } | null;
}

/** Pays for one request at a gateway, and compares its bill and the balance with the price of the catalog and the tokens of the reply. */
export async function payForRequest(baseUrl: string, apiKey: string): Promise<{ costPicoUsd: bigint; requestId: string }> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const get = async <Body>(path: string): Promise<Body> => {
    const response = await fetch(`${baseUrl}${path}`, { headers });
    assert.equal(response.status, 200, path);
    return (await response.json()) as Body;
  };
  const readBalance = async () => BigInt((await get<{ balance_pico_usd: string }>('/balance')).balance_pico_usd);

  const before = await readBalance();
  const body = JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: 'Hello from a clean folder' }] });
  const response = await fetch(`${baseUrl}/chat/completions`, { method: 'POST', headers, body });
  assert.equal(response.status, 200);
  const { usage } = (await response.json()) as Reply;
  const requestId = response.headers.get('x-request-id') ?? '';
  const owed = computePrice(usage);
  assert.ok(owed > 0n);
  const { settlement } = await get<Bill>(`/requests/${requestId}`);
  assert.equal(settlement?.cost_pico_usd, String(owed));
  assert.equal(before - (await readBalance()), owed);
  return { costPicoUsd: owed, requestId };
}

/** Computed by hand here: the release is judged by its own catalog file and by nothing of its code. */
function computePrice({ prompt_tokens: prompt, completion_tokens: output, prompt_tokens_details: details }: Reply['usage']): bigint {
  const { models } = parse(readFileSync(join(ROOT, 'config/catalog.yaml'), 'utf8')) as CatalogFile;
  const price = models.find(({ id }) => id === 'sim-fast')?.price;
  assert.ok(price);
  // Dollars per million tokens are picodollars per token, times a million.
  const picoUsd = (usd: string) => BigInt(Math.round(Number(usd) * 1_000_000));
  const cached = details?.cached_tokens ?? 0;
  const amounts = [
    [prompt - cached, price.inputUsdPerMTok],
    [cached, price.cachedInputUsdPerMTok],
    [output, price.outputUsdPerMTok],
  ] as const;
  return amounts.reduce((sum, [tokens, usd]) => sum + BigInt(tokens) * picoUsd(usd), 0n);
}

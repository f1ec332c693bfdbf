import { holdList } from '#contracts/billing/holds.js';
import { requestShow } from '#contracts/billing/requests.js';
import { readBalance } from '#testing/tenant.js';
import { chatClient } from './pairs/chat-client.js';
import { type Bill, buildExpectation } from './pairs/expectation.js';
import { type Case, everyCase, findExceptions, MODES, type Mode } from './pairs/grid.js';
import { messagesClient } from './pairs/messages-client.js';
import type { FormatClient, Outcome } from './pairs/outcome.js';
import { responsesClient } from './pairs/responses-client.js';
import { type ClientFormat, DIALECTS, PATHS } from './pairs/scenario.js';
import { chooseModel, heardBy, joinPairedSystem, type PairedSystem } from './pairs/upstreams.js';

/**
 * Every client format at upstreams of every dialect, through the whole system: every pair gives the same reply, usage and bill for a
 * scenario, plain and streamed. The scenarios are data in pairs/.
 */
const AT_ONCE = 16;

type Asked = { outcome: Outcome; bill: Bill | undefined } | { error: unknown };

let system: PairedSystem;
let spent: bigint;
const asked = new Map<string, Asked>();
const cases = everyCase();

/** Sends all requests in parallel; each test checks the outcome of one case. */
beforeAll(async () => {
  system = await joinPairedSystem();
  const { gatewayUrl, tenant } = system;
  const clients: Record<ClientFormat, FormatClient<never>> = {
    chat: chatClient(gatewayUrl, tenant.apiKey) as FormatClient<never>,
    responses: responsesClient(gatewayUrl, tenant.apiKey) as FormatClient<never>,
    messages: messagesClient(gatewayUrl, tenant.apiKey) as FormatClient<never>,
  };
  const before = BigInt((await readBalance(gatewayUrl, tenant.apiKey)).balance_pico_usd);
  await inParallel(
    cases.flatMap((one) => MODES.map((mode) => ({ one, mode }))),
    async ({ one, mode }) => {
      asked.set(describeCase(one, mode), await ask(clients[one.client], one, mode).catch((error: unknown) => ({ error })));
    },
  );
  spent = before - BigInt((await readBalance(gatewayUrl, tenant.apiKey)).balance_pico_usd);
});
afterAll(() => system?.leave());

async function ask(client: FormatClient<never>, one: Case, mode: Mode): Promise<Asked> {
  const body = client.render(one.scenario.ask, chooseModel(one, mode));
  const outcome = await client[mode](body);
  // Without waiting: a reply is settled before its client has it.
  const billed = await system.administrator.request(requestShow, { requestId: outcome.requestId });
  const { settlement, upstream } = billed;
  if (!settlement) return { outcome, bill: undefined };
  const { reason, usage, costPicoUsd } = settlement;
  return { outcome, bill: { reason, usage, costPicoUsd, upstream } };
}

async function inParallel<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

function describeCase({ scenario, client, dialect }: Case, mode: Mode): string {
  return `${client} at ${dialect}: ${scenario.name}, ${mode}`;
}

function findResult(one: Case, mode: Mode): Exclude<Asked, { error: unknown }> {
  const result = asked.get(describeCase(one, mode));
  if (result === undefined) throw new Error('never asked');
  if ('error' in result) throw result.error;
  return result;
}

describe.each(cases.map((one) => ({ one, title: `${one.client} at ${one.dialect}: ${one.scenario.name}` })))('$title', ({ one }) => {
  test.each(MODES)('%s: reply, usage and bill match the scenario [one-billing, dialect-pairs]', (mode) => {
    const { outcome, bill } = findResult(one, mode);
    const { status, seen } = outcome;
    expect({ status, seen, bill }).toEqual(buildExpectation(one, mode));
  });

  const differs = findExceptions(one).some((exception) => exception.mode !== undefined);
  if (one.scenario.reply && !differs) {
    test('the folded stream equals the plain reply', () => {
      expect(findResult(one, 'streamed').outcome.whole).toEqual(findResult(one, 'plain').outcome.whole);
    });
  }
});

test('each upstream was called in its own dialect, once for each request, and read to its end', async () => {
  const heard = await Promise.all(
    DIALECTS.map(async (dialect) => {
      const { paths, started, aborted } = await heardBy(system.upstreams[dialect]);
      return { dialect, strange: [...paths].filter((path) => !PATHS[dialect].test(path)), started, aborted };
    }),
  );
  const requests = (dialect: string): number => MODES.length * cases.filter((one) => one.dialect === dialect).length;
  expect(heard).toEqual(DIALECTS.map((dialect) => ({ dialect, strange: [], started: requests(dialect), aborted: 0 })));
});

test('no hold is left, and the balance fell by the sum of the bills', async () => {
  const { holds } = await system.administrator.request(holdList, { accountId: system.tenant.accountId });
  const billed = [...asked.values()].map((result) => BigInt(('bill' in result && result.bill?.costPicoUsd) || 0));
  expect({ holds, spent }).toEqual({ holds: [], spent: billed.reduce((sum, cost) => sum + cost, 0n) });
});

import { type Bench, inParallel, textReply } from '../bench.ts';
import type { Heard } from '../formats/format.ts';
import { FORMAT_NAMES } from '../formats/format.ts';
import { CHAT, MODEL_BY_FORMAT } from '../models.ts';
import { dollars, PRICES, priceUsage } from '../money/terms.ts';
import { Gate } from '../upstream/gate.ts';
import { play } from '../upstream/play.ts';
import type { Outcome, Random, Row } from './row.ts';

const AT_ONCE = 60;
const FITTING = 5;

/** Many requests at one balance, and at one budget, which pay for a few. */
export const overspend: readonly Row[] = [
  ...([true, false] as const).map(
    (stream): Row => ({
      id: `overspend/balance-${stream ? 'streamed' : 'plain'}`,
      group: 'overspend',
      title: `${AT_ONCE} ${stream ? 'streamed' : 'plain'} requests at once in all formats, at a balance for ${FITTING}`,
      needs: ['wallet'],
      isQuick: stream,
      run: (bench, random) => spendAtOnce(bench, random, { stream, limit: 'balance' }),
    }),
  ),
  {
    id: 'overspend/budget',
    group: 'overspend',
    title: `${AT_ONCE} streamed requests at once in all formats, at a budget for ${FITTING}`,
    needs: ['wallet', 'budget'],
    isQuick: true,
    run: (bench, random) => spendAtOnce(bench, random, { stream: true, limit: 'budget' }),
  },
  {
    id: 'overspend/churn',
    group: 'overspend',
    title: '300 requests, 40 at a time, at a balance for some 40: holds come back while others are made',
    needs: ['wallet'],
    run: spendInChurn,
  },
  {
    id: 'overspend/to-the-last',
    group: 'overspend',
    title: 'requests one after another, until the balance pays for none',
    needs: ['wallet'],
    run: spendAll,
  },
];

const TRUTH = { prompt: 64, cached: 0, output: 32, reasoning: 0 };
const COST = priceUsage(TRUTH, PRICES);
const CAP = TRUTH.output;

/** All upstream calls wait until no request is left undecided, so that every request is admitted with all others open. */
async function spendAtOnce(
  bench: Bench,
  random: Random,
  { stream, limit }: { stream: boolean; limit: 'balance' | 'budget' },
): Promise<Outcome> {
  const gate = new Gate();
  const opened = bench.openCase(play(textReply(8).reply, { beforeHead: gate }), TRUTH);
  // A gateway that holds a token for each byte of the prompt needs more than four times the cost. A pico-dollar less than a multiple.
  const held = BigInt(TRUTH.prompt * 4) * PRICES.inputPicoUsd + BigInt(CAP) * PRICES.outputPicoUsd;
  const limitPicoUsd = held * BigInt(FITTING + 1) - 1n - BigInt(random(1_000));
  const wallet = await bench.openWallet(limit === 'balance' ? limitPicoUsd : undefined);
  if (!wallet) throw new Error('no wallet');
  if (limit === 'budget') await bench.product.setBudget?.(wallet, limitPicoUsd);
  const heard: Heard[] = [];
  const sent = Array.from({ length: AT_ONCE }, (_, index) => {
    const client = FORMAT_NAMES.filter((name) => bench.product.address(name, MODEL_BY_FORMAT[name]))[index % 3] ?? 'chat';
    const exchange = bench.send(opened, { client, model: MODEL_BY_FORMAT[client], stream, wallet, ask: { outputTokensMax: CAP } });
    return exchange.done.then((one) => heard.push(one));
  });
  const open = async (): Promise<void> => {
    while (heard.length + opened.calls.length < AT_ONCE) await new Promise((resolve) => setTimeout(resolve, 10));
    gate.open();
  };
  await Promise.all([open(), ...sent]);
  const money = await bench.bill(wallet, [opened]);
  const served = heard.filter(({ status, end }) => status === 200 && end === 'complete').length;
  const faults = heard
    .filter(({ status }) => ![200, 402, 429, 403].includes(status))
    .map(({ status, error }) => `status ${status}: ${error?.message}`);
  if (opened.owedPicoUsd > limitPicoUsd)
    faults.push(`overspent: $${dollars(opened.owedPicoUsd)} were served at a ${limit} of $${dollars(limitPicoUsd)}`);
  if (served === 0) faults.push('no request was served');
  return { money, faults, note: `${served} of ${AT_ONCE} served, the ${limit} pays for ${limitPicoUsd / COST} at most` };
}

async function spendInChurn(bench: Bench, random: Random): Promise<Outcome> {
  const balance = COST * 40n + BigInt(random(1_000));
  const wallet = await bench.openWallet(balance);
  const { reply } = textReply(8);
  const opened = bench.openCase(async (call) => {
    await call.pause(random(30));
    await play(reply)(call);
  }, TRUTH);
  let served = 0;
  await inParallel(Array.from({ length: 300 }), 40, async () => {
    const client = FORMAT_NAMES[random(3)] ?? 'chat';
    if (!bench.product.address(client, MODEL_BY_FORMAT[client])) return;
    const heard = await bench.send(opened, { client, model: MODEL_BY_FORMAT[client], wallet, ask: { outputTokensMax: CAP } }).done;
    if (heard.end === 'complete') served++;
  });
  const money = await bench.bill(wallet, [opened]);
  const faults = opened.owedPicoUsd > balance ? [`overspent: $${dollars(opened.owedPicoUsd)} of $${dollars(balance)}`] : [];
  return { money, faults, note: `${served} of 300 served, the balance pays for 40 at most` };
}

async function spendAll(bench: Bench): Promise<Outcome> {
  const balance = COST * 20n + 1n;
  const opened = bench.openCase(play(textReply(8).reply), TRUTH);
  const wallet = await bench.openWallet(balance);
  let refused = 0;
  await inParallel(Array.from({ length: 60 }), 1, async () => {
    const heard = await bench.send(opened, { client: 'chat', model: CHAT, wallet, ask: { outputTokensMax: CAP } }).done;
    if (heard.status !== 200) refused++;
  });
  const money = await bench.bill(wallet, [opened]);
  const faults = opened.owedPicoUsd > balance ? [`overspent: $${dollars(opened.owedPicoUsd)} of $${dollars(balance)}`] : [];
  if (refused === 0) faults.push('no request was refused');
  return { money, faults, note: `${60 - refused} served, ${refused} refused` };
}

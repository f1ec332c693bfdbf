import { type Bench, textReply } from '../bench.ts';
import { FORMAT_NAMES } from '../formats/format.ts';
import { CHAT, MODEL_BY_FORMAT } from '../models.ts';
import { Gate } from '../upstream/gate.ts';
import { play } from '../upstream/play.ts';
import type { Row } from './row.ts';

const SAME_ID = { 'x-request-id': 'kit-same-request', 'idempotency-key': 'kit-same-request', 'x-client-request-id': 'kit-same-request' };

/** A request, or its settlement, is sent again. */
export const repeats: readonly Row[] = [
  {
    id: 'repeats/same-request-id',
    group: 'repeats',
    title:
      'the same request five times with one request id, one after another and at once: what was served is charged, no more and no less',
    needs: ['wallet'],
    isQuick: true,
    run: async (bench) => {
      const { reply, truth } = textReply(6);
      const opened = bench.openCase(play(reply), truth);
      const wallet = await bench.openWallet();
      const ask = () => bench.send(opened, { client: 'chat', model: CHAT, wallet, headers: SAME_ID }).done;
      const heard = [await ask(), await ask(), ...(await Promise.all([ask(), ask(), ask()]))];
      const faults = heard
        .filter(({ end }) => end !== 'complete')
        .map(({ status, error }) => `a repetition failed: ${status} ${error?.message}`);
      return { money: await bench.bill(wallet, [opened]), faults, note: `${opened.calls.length} calls of the upstream` };
    },
  },
  {
    id: 'repeats/retry-after-a-lost-reply',
    group: 'repeats',
    title: 'the client loses its reply in the middle and sends the request again: the part and the whole are charged',
    needs: ['wallet'],
    run: async (bench) => {
      const { reply, truth } = textReply(8);
      const gate = new Gate();
      const lost = bench.openCase(play(reply, { before: { piece: 5, gate } }), truth);
      const whole = bench.openCase(play(reply), truth);
      const wallet = await bench.openWallet();
      const exchange = bench.send(lost, { client: 'chat', model: CHAT, wallet, headers: SAME_ID });
      await gate.reached;
      await exchange.until((heard) => heard.text.length >= (lost.calls[0]?.outputServed ?? 0) * 4);
      exchange.leave();
      const heard = await bench.send(whole, { client: 'chat', model: CHAT, wallet, headers: SAME_ID }).done;
      await lost.ended();
      gate.open();
      return { money: await bench.bill(wallet, [lost, whole]), faults: heard.end === 'complete' ? [] : ['the repetition failed'] };
    },
  },
  {
    id: 'repeats/settlement',
    group: 'repeats',
    title: 'the settlement of a finished request arrives three times more, once with a larger usage, and then its release',
    needs: ['wallet', 'repeated settlement'],
    isQuick: true,
    run: repeatSettlements,
  },
];

async function repeatSettlements(bench: Bench) {
  const { reply, truth } = textReply(6);
  const opened = bench.openCase(play(reply), truth);
  const wallet = await bench.openWallet();
  if (!wallet) throw new Error('no wallet');
  for (const client of FORMAT_NAMES) {
    if (!bench.product.address(client, MODEL_BY_FORMAT[client])) continue;
    const exchange = bench.send(opened, { client, model: MODEL_BY_FORMAT[client], wallet });
    await exchange.done;
    await bench.product.repeatSettlement?.(wallet, exchange.headers.get('x-request-id') ?? '');
  }
  return { money: await bench.bill(wallet, [opened]), faults: [] };
}

import { textReply } from '../bench.ts';
import { CHANGED } from '../models.ts';
import { CHANGED_PRICES } from '../money/terms.ts';
import { Gate } from '../upstream/gate.ts';
import { play } from '../upstream/play.ts';
import type { Row } from './row.ts';

/** Prices change while requests run. */
export const prices: readonly Row[] = [
  {
    id: 'prices/in-flight',
    group: 'prices',
    title: 'the price doubles in mid-stream, before the head, and between two requests: each is charged the price at which it began',
    needs: ['wallet', 'price change'],
    run: async (bench) => {
      const { reply, truth } = textReply(8, { cached: 16 });
      const [midStream, beforeHead] = [new Gate(), new Gate()];
      const old = [
        bench.openCase(play(reply, { before: { piece: 4, gate: midStream } }), truth),
        bench.openCase(play(reply, { beforeHead }), truth),
      ];
      const wallet = await bench.openWallet();
      const running = old.map((opened) => bench.send(opened, { client: 'chat', model: CHANGED, wallet }).done);
      await Promise.all([midStream.reached, beforeHead.reached]);
      await bench.product.changePrices?.(CHANGED, CHANGED_PRICES);
      const later = bench.openCase(play(reply), truth, { prices: CHANGED_PRICES });
      const heard = await bench.send(later, { client: 'chat', model: CHANGED, wallet }).done;
      midStream.open();
      beforeHead.open();
      const all = [heard, ...(await Promise.all(running))];
      const faults = all.filter(({ end }) => end !== 'complete').map(({ error }) => `a request failed: ${error?.message}`);
      return { money: await bench.bill(wallet, [...old, later]), faults };
    },
  },
];

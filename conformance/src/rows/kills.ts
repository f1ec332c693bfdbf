import { setTimeout as delay } from 'node:timers/promises';
import { type Bench, textReply } from '../bench.ts';
import { CHAT } from '../models.ts';
import type { Case } from '../upstream/case.ts';
import { Gate } from '../upstream/gate.ts';
import { play } from '../upstream/play.ts';
import type { Row } from './row.ts';

const SERVING_MS = 60_000;

/** Requests at each moment of their life, when a process is killed. */
const MOMENTS = [
  'before the head',
  'before content',
  'mid-stream',
  'before the finish',
  'after the usage',
  'after the end',
  'plain, in the body',
] as const;

/** kill -9 of a process, with requests at each moment of their life. */
export function killRows(processes: readonly string[]): readonly Row[] {
  return processes.map((name) => ({
    id: `kills/${name}`,
    group: 'kills',
    title: `kill -9 of ${name}, with requests ${MOMENTS.join('; ')}: what was served is charged once, nothing stays on hold`,
    needs: ['wallet', 'kill'],
    isExclusive: true,
    pair: { client: 'chat', model: CHAT },
    run: (bench) => killUnderStreams(bench, name),
  }));
}

async function killUnderStreams(bench: Bench, name: string) {
  const { noticedMs, meteredMs, recoveredMs } = bench.product.waits;
  const wallet = await bench.openWallet();
  const { reply, truth } = textReply(8);
  const running = MOMENTS.map((moment) => {
    const gate = new Gate();
    const piece = {
      'before the head': 0,
      'before content': 1,
      'mid-stream': 5,
      'before the finish': 9,
      'after the usage': 11,
      'after the end': -1,
      'plain, in the body': 0,
    }[moment];
    const script = play(reply, moment === 'before the head' ? { beforeHead: gate } : { before: { piece, gate } });
    const opened: Case = bench.openCase(script, truth, { blame: 'product' });
    const exchange = bench.send(opened, { client: 'chat', model: CHAT, wallet, stream: moment !== 'plain, in the body' });
    return { moment, gate, opened, exchange };
  });
  for (const { moment, gate, opened, exchange } of running) {
    if (moment === 'after the end') await exchange.done;
    else await gate.reached;
    const served = (opened.calls[0]?.outputServed ?? 0) * 4;
    if (served > 0 && moment !== 'after the end' && moment !== 'after the usage')
      await exchange.until((heard) => heard.text.length >= served);
  }
  // Until what was served is on record, so that the death of all that know it loses nothing.
  await delay(meteredMs);
  await bench.product.kill?.(name);
  await delay(noticedMs);
  for (const { gate } of running) gate.open();
  await Promise.all(running.map(({ opened }) => opened.ended()));
  const heard = await Promise.all(running.map(async ({ moment, exchange }) => ({ moment, heard: await exchange.done })));
  const faults = heard.flatMap(({ moment, heard: one }, index) =>
    one.end === 'complete' && running[index]?.opened.calls[0]?.isComplete !== true ? [`${moment}: a broken reply ended well`] : [],
  );
  const money = await bench.bill(
    wallet,
    running.map(({ opened }) => opened),
    recoveredMs,
  );
  await untilServing(bench);
  return {
    money,
    faults,
    note: heard.map(({ moment, heard: one }) => `${moment}: ${one.status === 200 ? one.end : one.status || 'broken'}`).join(', '),
  };
}

/** Resolves when the product serves requests again. */
async function untilServing(bench: Bench): Promise<void> {
  const wallet = await bench.openWallet();
  for (const deadline = performance.now() + SERVING_MS; performance.now() < deadline; await delay(100)) {
    const { reply, truth } = textReply(1);
    const heard = await bench.send(bench.openCase(play(reply), truth), { client: 'chat', model: CHAT, wallet }).done;
    if (heard.end === 'complete') return;
  }
  throw new Error('the product does not serve requests any more');
}

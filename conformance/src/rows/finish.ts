import { type Bench, textReply } from '../bench.ts';
import { type Finish, FORMAT_NAMES, type FormatName } from '../formats/format.ts';
import { MODEL_BY_FORMAT, type Model } from '../models.ts';
import { play } from '../upstream/play.ts';
import type { Outcome, Row } from './row.ts';

const FINISHES: readonly { finish: Finish; title: string; accepts: Partial<Record<FormatName, Finish[]>> }[] = [
  { finish: 'stop', title: 'a normal end', accepts: {} },
  { finish: 'length', title: 'the token limit', accepts: {} },
  // A gateway's contract may have no word for a filter in Chat Completions.
  { finish: 'filter', title: 'a content filter', accepts: { chat: ['filter', 'stop'] } },
];

/** Words of the finish and figures of the usage, on every pair of client format and upstream format. */
export const finish: readonly Row[] = FORMAT_NAMES.flatMap((client) =>
  FORMAT_NAMES.flatMap((upstream) =>
    FINISHES.flatMap((end) =>
      [true, false].map((stream): Row => {
        const model = MODEL_BY_FORMAT[upstream];
        const how = stream ? 'streamed' : 'plain';
        return {
          id: `finish/${client}-at-${upstream}-${end.finish}-${how}`,
          group: 'finish',
          title: `${client} client, ${upstream} upstream, ${how}: ${end.title}, and the usage as reported`,
          needs: [],
          pair: { client, model },
          isQuick: end.finish === 'length' && stream,
          run: (bench) => hear(bench, { client, model, stream, wanted: end.accepts[client] ?? [end.finish], finish: end.finish }),
        };
      }),
    ),
  ),
);

async function hear(
  bench: Bench,
  { client, model, stream, wanted, finish: word }: { client: FormatName; model: Model; stream: boolean; wanted: Finish[]; finish: Finish },
): Promise<Outcome> {
  const { reply, truth } = textReply(6, { cached: 16 });
  const opened = bench.openCase(play({ ...reply, finish: word }), truth);
  const wallet = await bench.openWallet();
  const heard = await bench.send(opened, { client, model, stream, wallet }).done;
  const text = reply.parts.flatMap((part) => part.pieces).join('');
  const faults = [...heard.faults];
  if (heard.text !== text) faults.push(`the text was "${heard.text}"`);
  if (!heard.finish || !wanted.includes(heard.finish)) faults.push(`the finish was ${heard.finish} instead of ${wanted.join(' or ')}`);
  if (heard.end !== 'complete') faults.push(`the reply did not end well: ${heard.status} ${heard.error?.message ?? heard.end}`);
  const { prompt, cached, output } = heard.usage ?? { prompt: 0, cached: 0, output: 0 };
  if (prompt !== truth.prompt || cached !== truth.cached || output !== truth.output)
    faults.push(
      `the client was told ${prompt}+${output} tokens with ${cached} cached, the upstream means ${truth.prompt}+${truth.output} with ${truth.cached}`,
    );
  return { money: await bench.bill(wallet, [opened]), faults };
}

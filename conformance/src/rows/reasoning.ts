import type { Bench } from '../bench.ts';
import { FORMAT_NAMES, type FormatName, type Reply } from '../formats/format.ts';
import { MODEL_BY_FORMAT, type Model } from '../models.ts';
import { play } from '../upstream/play.ts';
import type { Outcome, Row } from './row.ts';

const TRUTH = { prompt: 64, cached: 0, output: 20, reasoning: 12 };
const REPLY: Reply = {
  parts: [
    { kind: 'reasoning', pieces: ['First I add them', ', then I check. '] },
    { kind: 'text', pieces: ['It is 4', '.'] },
  ],
  finish: 'stop',
  usage: TRUTH,
};
const ONLY_REASONING: Reply = { parts: [{ kind: 'reasoning', pieces: ['First I add them', ', then '] }], finish: 'length', usage: TRUTH };

/** Reasoning, on every pair of client format and upstream format. */
export const reasoning: readonly Row[] = FORMAT_NAMES.flatMap((client) =>
  FORMAT_NAMES.flatMap((upstream) =>
    [true, false].flatMap((stream): Row[] => {
      const model = MODEL_BY_FORMAT[upstream];
      const id = `reasoning/${client}-at-${upstream}-${stream ? 'streamed' : 'plain'}`;
      const title = `${client} client, ${upstream} upstream, ${stream ? 'streamed' : 'plain'}`;
      const base = { group: 'reasoning' as const, needs: [], pair: { client, model } };
      return [
        {
          ...base,
          id,
          title: `${title}: reasoning apart from the text, and both billed as output`,
          isQuick: stream && client === upstream,
          run: (bench) => hear(bench, { client, model, stream, reply: REPLY }),
        },
        {
          ...base,
          id: `${id}-only`,
          title: `${title}: a reply that is cut while it reasons`,
          run: (bench) => hear(bench, { client, model, stream, reply: ONLY_REASONING }),
        },
      ];
    }),
  ),
);

async function hear(
  bench: Bench,
  { client, model, stream, reply }: { client: FormatName; model: Model; stream: boolean; reply: Reply },
): Promise<Outcome> {
  const opened = bench.openCase(play(reply), TRUTH);
  const wallet = await bench.openWallet();
  const heard = await bench.send(opened, { client, model, stream, wallet, ask: { wantsReasoning: true, outputTokensMax: 2_000 } }).done;
  const join = (kind: string): string => reply.parts.flatMap((part) => (part.kind === kind ? part.pieces : [])).join('');
  const faults = [...heard.faults];
  if (heard.text !== join('text')) faults.push(`the text was "${heard.text}"`);
  if (heard.reasoning !== join('reasoning'))
    faults.push(heard.reasoning === '' ? 'the reasoning was dropped' : `the reasoning was "${heard.reasoning}"`);
  if (heard.finish !== reply.finish) faults.push(`the finish was ${heard.finish} instead of ${reply.finish}`);
  if (heard.usage?.output !== TRUTH.output)
    faults.push(`the client was told ${heard.usage?.output} output tokens instead of ${TRUTH.output}`);
  if (heard.end !== 'complete') faults.push(`the reply did not end well: ${heard.status} ${heard.error?.message ?? heard.end}`);
  return { money: await bench.bill(wallet, [opened]), faults };
}

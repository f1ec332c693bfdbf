import { type Bench, textReply } from '../bench.ts';
import { writeEvent } from '../formats/events.ts';
import { FORMAT_NAMES, type FormatName, type StreamPiece } from '../formats/format.ts';
import { MODEL_BY_FORMAT, type Model } from '../models.ts';
import { play } from '../upstream/play.ts';
import type { Outcome, Row } from './row.ts';

/** Errors that come inside a stream, in the form of each upstream. */
const ERROR_EVENTS: Record<FormatName, string> = {
  chat: writeEvent({ error: { message: 'the scripted model failed', type: 'server_error', param: null, code: 'server_error' } }),
  responses: writeEvent(
    {
      type: 'response.failed',
      sequence_number: 99,
      response: {
        id: 'resp_kit',
        object: 'response',
        created_at: 1,
        model: 'scripted',
        status: 'failed',
        output: [],
        error: { code: 'server_error', message: 'the scripted model failed' },
      },
    },
    'response.failed',
  ),
  messages: writeEvent({ type: 'error', error: { type: 'api_error', message: 'the scripted model failed' } }, 'error'),
};

/** Errors in a stream, before and after content, on every pair of client format and upstream format. */
export const errors: readonly Row[] = FORMAT_NAMES.flatMap((client) =>
  FORMAT_NAMES.flatMap((upstream) =>
    (['before', 'after'] as const).map((when): Row => {
      const model = MODEL_BY_FORMAT[upstream];
      return {
        id: `errors/${client}-at-${upstream}-${when}-content`,
        group: 'errors',
        title: `${client} client, ${upstream} upstream: an error event ${when} content does not look like an end`,
        needs: [],
        pair: { client, model },
        isQuick: when === 'after' && client === upstream,
        run: (bench) => fail(bench, { client, model, when }),
      };
    }),
  ),
);

async function fail(
  bench: Bench,
  { client, model, when }: { client: FormatName; model: Model; when: 'before' | 'after' },
): Promise<Outcome> {
  const { reply, truth } = textReply(6);
  const pieces = (all: StreamPiece[]): StreamPiece[] => {
    const content = all.findIndex(({ tokens }) => tokens > 0);
    return [...all.slice(0, when === 'before' ? content : content + 3), { bytes: ERROR_EVENTS[model.format], tokens: 0, label: 'end' }];
  };
  const opened = bench.openCase(play(reply, { pieces }), truth);
  const wallet = await bench.openWallet();
  const heard = await bench.send(opened, { client, model, wallet }).done;
  const faults: string[] = [];
  if (heard.end === 'complete')
    faults.push(
      `the client got no error, but a reply that ends: "${heard.text}" (${heard.finish ?? 'with a finish word that its format does not have'})`,
    );
  if (heard.end === 'open') faults.push('the client got no error: the connection just ended');
  if (heard.end === 'failed' && !heard.error?.message) faults.push('the error has no message');
  return { money: await bench.bill(wallet, [opened]), faults, note: `${heard.status} ${heard.error?.code ?? heard.end}` };
}

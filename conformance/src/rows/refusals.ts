import { type Bench, textReply } from '../bench.ts';
import { FORMAT_NAMES, type FormatName } from '../formats/format.ts';
import { CHAT, MODEL_BY_FORMAT } from '../models.ts';
import { play } from '../upstream/play.ts';
import type { Outcome, Row } from './row.ts';

/** Requests that are refused, by the gateway or by the upstream: none costs anything. */
export const refusals: readonly Row[] = FORMAT_NAMES.flatMap((client) => [
  row(
    client,
    'no-money',
    'a wallet without money',
    async (bench) => {
      const wallet = await bench.openWallet(0n);
      const opened = bench.openCase(play(textReply().reply), textReply().truth);
      const heard = await bench.send(opened, { client, model: MODEL_BY_FORMAT[client], wallet }).done;
      const faults = opened.calls.length > 0 ? ['the upstream was called'] : [];
      if (heard.status < 400 || heard.status >= 500) faults.push(`the client got ${heard.status}`);
      return { money: await bench.bill(wallet, [opened]), faults, note: `${heard.status} ${heard.error?.code}` };
    },
    true,
  ),
  row(
    client,
    'bad-key',
    'a key that does not exist',
    async (bench) => {
      const opened = bench.openCase(play(textReply().reply), textReply().truth);
      const wallet = await bench.openWallet();
      const stranger = wallet && { ...wallet, key: `${wallet.key.slice(0, -4)}zzzz` };
      const heard = await bench.send(opened, { client, model: MODEL_BY_FORMAT[client], wallet: stranger }).done;
      const faults = opened.calls.length > 0 ? ['the upstream was called'] : [];
      if (heard.status !== 401 && heard.status !== 403) faults.push(`the client got ${heard.status}`);
      return { money: await bench.bill(wallet, [opened]), faults, note: `${heard.status} ${heard.error?.code}` };
    },
    true,
  ),
  ...(
    [
      [400, 'invalid_request_error'],
      [401, 'authentication_error'],
      [403, 'permission_error'],
      [404, 'not_found_error'],
      [413, 'request_too_large'],
    ] as const
  ).map(([status, code]) =>
    row(client, `upstream-${status}`, `the upstream refuses with ${status}`, (bench) => refusedUpstream(bench, client, status, code)),
  ),
  row(client, 'broken-json', 'a body that is no JSON', async (bench) => {
    const opened = bench.openCase(play(textReply().reply), textReply().truth);
    const wallet = await bench.openWallet();
    const sending = { client, model: MODEL_BY_FORMAT[client], wallet };
    const heard = await bench.sendBody(sending, bench.body(opened.prompt, sending).slice(0, -3)).done;
    const faults = opened.calls.length > 0 ? ['the upstream was called'] : [];
    if (heard.status < 400 || heard.status >= 500) faults.push(`the client got ${heard.status}`);
    return { money: await bench.bill(wallet, [opened]), faults, note: `${heard.status} ${heard.error?.code}` };
  }),
]);

function row(client: FormatName, name: string, title: string, run: (bench: Bench) => Promise<Outcome>, needsWallet = false): Row {
  return {
    id: `refusals/${client}-${name}`,
    group: 'refusals',
    title: `${client}: ${title}`,
    needs: needsWallet ? ['wallet'] : [],
    pair: { client, model: MODEL_BY_FORMAT[client] },
    ...(client === 'chat' && name === 'no-money' && { isQuick: true }),
    run,
  };
}

async function refusedUpstream(bench: Bench, client: FormatName, status: number, code: string): Promise<Outcome> {
  const model = MODEL_BY_FORMAT[client] ?? CHAT;
  const opened = bench.openCase(
    (call) => call.refuse(status, call.format.writeError(code, 'the scripted upstream does not like it')),
    textReply().truth,
  );
  const wallet = await bench.openWallet();
  const faults: string[] = [];
  const seen: string[] = [];
  for (const stream of [true, false]) {
    const heard = await bench.send(opened, { client, model, stream, wallet }).done;
    seen.push(`${heard.status} ${heard.error?.code ?? heard.end}`);
    if (heard.status < 400) faults.push(`the client got ${heard.status}`);
    if (heard.faults.length > 0) faults.push(...heard.faults);
  }
  return { money: await bench.bill(wallet, [opened]), faults, note: `clients saw ${seen.join(', ')}` };
}

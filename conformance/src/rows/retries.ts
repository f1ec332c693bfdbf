import { type Bench, textReply } from '../bench.ts';
import { FORMAT_NAMES, type FormatName } from '../formats/format.ts';
import { MODEL_BY_FORMAT, TWO_ROUTES } from '../models.ts';
import type { Call } from '../upstream/call.ts';
import type { Script } from '../upstream/case.ts';
import { failing, play } from '../upstream/play.ts';
import type { Outcome, Row } from './row.ts';

interface Failure {
  name: string;
  title: string;
  fail: Script;
  isQuick?: boolean;
}

const refuse = (status: number, code: string, headers?: Record<string, string>) => (call: Call) =>
  call.refuse(status, call.format.writeError(code, 'scripted failure'), headers);

const FAILURES: readonly Failure[] = [
  { name: '429', title: 'answers 429 with Retry-After', fail: refuse(429, 'rate_limit_exceeded', { 'retry-after': '1' }) },
  { name: '500', title: 'answers 500', fail: refuse(500, 'internal_error') },
  { name: '503', title: 'answers 503', fail: refuse(503, 'overloaded'), isQuick: true },
  { name: 'closes', title: 'closes without an answer', fail: (call) => call.cut() },
  { name: 'breaks-before-content', title: 'breaks after its head', fail: play(textReply(6).reply, { cutBefore: 1 }) },
  { name: 'breaks-in-content', title: 'breaks after some content', fail: play(textReply(6).reply, { cutBefore: 4 }) },
  { name: 'empty', title: 'answers 200 with an empty body', fail: answerNothing },
  {
    name: 'html',
    title: 'answers 502 with a page of a proxy',
    fail: (call) => call.refuse(502, '<html><body>502 Bad Gateway</body></html>', { 'content-type': 'text/html' }),
  },
];

function answerNothing(call: Call): void {
  call.answer();
  call.end();
}

/** The upstream fails once, or always; or its first route does. */
export const retries: readonly Row[] = FAILURES.flatMap((failure) => [
  ...FORMAT_NAMES.map((client) => failRow(failure, client)),
  secondRouteRow(failure),
]);

function failRow({ name, title, fail, isQuick }: Failure, client: FormatName): Row {
  const model = MODEL_BY_FORMAT[client];
  return {
    id: `retries/${client}-${name}`,
    group: 'retries',
    title: `${client}: the upstream ${title}, always; then once: only what was served is charged`,
    needs: [],
    pair: { client, model },
    ...(isQuick && client === 'chat' && { isQuick }),
    run: async (bench) => {
      const { reply, truth } = textReply(6);
      const wallet = await bench.openWallet();
      const always = bench.openCase(fail, truth);
      const once = bench.openCase(failing(1, fail, play(reply)), truth);
      const outcomes: string[] = [];
      const faults: string[] = [];
      for (const opened of [always, once])
        for (const stream of [true, false]) {
          const heard = await bench.send(opened, { client, model, stream, wallet }).done;
          const isWhole = opened.calls.at(-1)?.isComplete === true;
          outcomes.push(`${heard.status}${heard.status === 200 ? ` ${heard.end}` : ''}`);
          if (heard.end === 'complete' && !isWhole) faults.push(`a failed reply ended well${stream ? ', streamed' : ''}: "${heard.text}"`);
          if (heard.end !== 'complete' && heard.status !== 200 && heard.error === null)
            faults.push(`status ${heard.status} without an error body`);
          if (heard.status >= 300 && heard.faults.length > 0) faults.push(`status ${heard.status}: ${heard.faults[0]}`);
        }
      return {
        money: await bench.bill(wallet, [always, once]),
        faults,
        note: `clients saw ${outcomes.join(', ')}; ${always.calls.length + once.calls.length} calls`,
      };
    },
  };
}

function secondRouteRow({ name, title, fail }: Failure): Row {
  return {
    id: `retries/second-route-${name}`,
    group: 'retries',
    title: `the first of two routes ${title}: the reply of the second is charged, and what the first has served`,
    needs: ['second route'],
    pair: { client: 'chat', model: TWO_ROUTES },
    run: (bench) => trySecondRoute(bench, name, fail),
  };
}

async function trySecondRoute(bench: Bench, name: string, fail: Script): Promise<Outcome> {
  const { reply, truth } = textReply(6);
  const wallet = await bench.openWallet();
  const opened = bench.openCase((call) => (call.route === 0 ? fail(call) : play(reply)(call)), truth);
  const faults: string[] = [];
  const outcomes: string[] = [];
  for (const stream of [true, false]) {
    const heard = await bench.send(opened, { client: 'chat', model: TWO_ROUTES, stream, wallet }).done;
    const isWhole = opened.calls.at(-1)?.isComplete === true;
    outcomes.push(`${heard.status} ${heard.end}`);
    if (heard.end === 'complete' && !isWhole) faults.push(`a failed reply ended well: "${heard.text}"`);
    const hasContent = stream && name === 'breaks-in-content';
    if (!hasContent && heard.end !== 'complete')
      faults.push(`the second route was not used${stream ? ', streamed' : ''}: ${heard.status} ${heard.error?.message ?? heard.end}`);
  }
  return { money: await bench.bill(wallet, [opened]), faults, note: `clients saw ${outcomes.join(', ')}; ${opened.calls.length} calls` };
}

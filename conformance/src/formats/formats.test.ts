import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FORMAT_NAMES, type Reply, type Turn } from './format.ts';
import { FORMATS } from './formats.ts';

const REPLY: Reply = {
  parts: [
    { kind: 'reasoning', pieces: ['First ', 'this.'] },
    { kind: 'text', pieces: ['Good ', 'morning.'] },
    { kind: 'call', id: 'call_1', name: 'look_up', pieces: ['{"city":', '"Rome"}'] },
  ],
  finish: 'tools',
  usage: { prompt: 20, cached: 5, output: 9, reasoning: 0 },
};
const HEARD = {
  status: 200,
  text: 'Good morning.',
  reasoning: 'First this.',
  calls: [{ id: 'call_1', name: 'look_up', arguments: '{"city":"Rome"}' }],
  finish: 'tools',
  usage: REPLY.usage,
  end: 'complete',
  error: null,
  faults: [],
};
const TURNS: Turn[] = [
  { role: 'system', text: 'Be brief.' },
  { role: 'user', text: 'Where?' },
  { role: 'call', id: 'call_1', name: 'look_up', arguments: '{"city":"Rome"}' },
  { role: 'result', id: 'call_1', text: 'sunny' },
];

for (const name of FORMAT_NAMES) {
  const format = FORMATS[name];
  const pieces = format.writeStream(REPLY);
  const stream = pieces.map(({ bytes }) => bytes).join('');

  void test(`${name}: a client hears what the upstream writes, streamed and plain`, () => {
    assert.deepEqual(format.readStream(stream, false), HEARD);
    assert.deepEqual(format.readReply(200, format.writeReply(REPLY)), HEARD);
  });

  void test(`${name}: a stream that is cut before its last event never looks complete`, () => {
    const last = pieces.at(-1)?.bytes.length ?? 0;
    const ends = Array.from({ length: stream.length - last }, (_, at) => format.readStream(stream.slice(0, at), false).end);
    assert.deepEqual([...new Set(ends)], ['open']);
    assert.equal(format.readStream(stream, true).end, 'open');
  });

  void test(`${name}: the upstream reads what a client asks`, () => {
    const tools = [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object' } }];
    const ask = { model: 'm', turns: TURNS, stream: true, outputTokensMax: 50, tools };
    const received = format.readAsk(JSON.parse(JSON.stringify(format.ask(ask))));
    assert.deepEqual(received, { model: 'm', turns: TURNS, tools, outputTokensMax: 50, isStream: true });
  });

  void test(`${name}: an error has its code and its message`, () => {
    const { end, error } = format.readReply(429, format.writeError('rate_limit_error', 'Slow down.'));
    assert.deepEqual({ end, error }, { end: 'failed', error: { code: 'rate_limit_error', message: 'Slow down.' } });
  });
}

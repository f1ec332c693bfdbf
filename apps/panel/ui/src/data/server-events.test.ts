import { parseEvents, type ServerEvent } from './server-events.js';

async function parsed(...texts: string[]): Promise<ServerEvent[]> {
  const pieces = (async function* () {
    yield* texts;
  })();
  const events: ServerEvent[] = [];
  for await (const event of parseEvents(pieces)) events.push(event);
  return events;
}

test('events may be cut anywhere; comments are left out, and so is an event without its end', async () => {
  expect(await parsed('data: {"a"', ':1}\n', '\n: ping\n\nevent: end\nda', 'ta: x\ndata: y\n\n', 'data: cut')).toEqual([
    { name: 'message', data: '{"a":1}' },
    { name: 'end', data: 'x\ny' },
  ]);
});

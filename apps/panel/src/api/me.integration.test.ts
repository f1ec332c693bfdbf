import { randomUUID } from 'node:crypto';
import { PanelFixture } from '../../test/panel-fixture.js';

const TRACE_URL = 'https://traces.example.com/trace/{traceId}';

test.each([
  ['none', null],
  [TRACE_URL, TRACE_URL],
])('people of the whole platform get the address of traces, those of an account do not (TRACE_URL %s)', async (traceUrl, shown) => {
  const panel = await PanelFixture.open({ traceUrl });
  const people = [await panel.person('admin'), await panel.person('owner', randomUUID())];
  const replies = await Promise.all(people.map(({ cookie }) => panel.send('/me', { cookie })));
  await panel.close();
  expect(replies.map(({ body }) => body.traceUrl)).toEqual([shown, null]);
});

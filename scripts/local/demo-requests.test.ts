import { expect, test } from '@jest/globals';
import { DEMO_KEYS, planDemoTraffic } from './demo-requests.ts';

const plan = planDemoTraffic(75);

test('the plan is the same every time, and starts its requests in order and in time', () => {
  expect(planDemoTraffic(75)).toEqual(plan);
  const starts = plan.map(({ atMs }) => atMs);
  expect(starts).toEqual([...starts].sort((one, other) => one - other));
  expect(starts.filter((atMs) => atMs < 0 || atMs >= 75_000)).toEqual([]);
});

test('the plan has every key, format, model and kind of end', () => {
  const generations = plan.filter(({ body }) => body !== undefined);
  const directives = (name: string): number => generations.filter(({ body }) => JSON.stringify(body).includes(` ${name}=`)).length;
  expect({
    keys: new Set(plan.map(({ key }) => key)),
    paths: new Set(plan.map(({ path, body }) => `${path} ${body?.stream ? 'streamed' : 'plain'}`)),
    models: new Set(generations.map(({ body }) => body?.model)),
    withoutAny: {
      clientsThatLeave: plan.filter(({ leaveAfterMs }) => leaveAfterMs !== undefined).length === 0,
      brokenStreams: directives('cut') === 0,
      failures: directives('status') === 0,
      failovers: directives('times') === 0,
    },
  }).toEqual({
    keys: new Set(Object.keys(DEMO_KEYS)),
    paths: new Set([
      '/v1/chat/completions streamed',
      '/v1/chat/completions plain',
      '/v1/responses streamed',
      '/v1/responses plain',
      '/v1/messages streamed',
      '/v1/messages plain',
      '/v1/messages/count_tokens plain',
      '/v1/models plain',
      '/v1/balance plain',
    ]),
    models: new Set(['sim-fast', 'sim-reason', 'sim-vision', 'sim-tiny', 'gpt-unknown']),
    withoutAny: { clientsThatLeave: false, brokenStreams: false, failures: false, failovers: false },
  });
});

import { type ReadinessCheck, untilReady } from './readiness.js';

test('waits until every check passes, and logs what is missing whenever it changes', async () => {
  const outcomes = { postgres: [false, false, true, true], schema: [false, false, false, true] };
  const check = (name: keyof typeof outcomes): ReadinessCheck => ({ name, check: () => outcomes[name].shift() === true });
  const logged: unknown[] = [];
  await untilReady([check('postgres'), check('schema')], { info: (fields: object) => logged.push(fields) } as never);
  expect([logged, outcomes]).toEqual([[{ missing: ['postgres', 'schema'] }, { missing: ['schema'] }], { postgres: [], schema: [] }]);
});

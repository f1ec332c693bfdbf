import { ownTraceId, parseTraceContext, unsampledContext } from './trace-context.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const GOOD = `00-${TRACE}-${SPAN}-01`;

test.each<[string, unknown, unknown, unknown]>([
  ['a context', GOOD, undefined, { traceparent: GOOD }],
  [
    'with the state of vendors',
    GOOD,
    'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
    { traceparent: GOOD, tracestate: 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE' },
  ],
  ['a state that is too long or not visible is left out', GOOD, 'a='.padEnd(513, 'x'), { traceparent: GOOD }],
  ['a later version is read as version 00', `cc-${TRACE}-${SPAN}-01-what-comes-then`, undefined, { traceparent: GOOD }],
  ['version 00 has no further fields', `${GOOD}-more`, undefined, undefined],
  ['version ff does not exist', `ff-${TRACE}-${SPAN}-01`, undefined, undefined],
  ['no trace', `00-${'0'.repeat(32)}-${SPAN}-01`, undefined, undefined],
  ['no span', `00-${TRACE}-${'0'.repeat(16)}-01`, undefined, undefined],
  ['capital letters', GOOD.toUpperCase(), undefined, undefined],
  ['two headers', `${GOOD}, ${GOOD}`, undefined, undefined],
  ['a line break', `${GOOD}\n`, undefined, undefined],
  ['a list', [GOOD], undefined, undefined],
])('%s', (_, traceparent, tracestate, expected) => {
  expect(parseTraceContext(traceparent, tracestate)).toEqual(expected);
});

test.each([
  ['ids of the gateway', 'req_0193f5a2b6c47d3e8f00a1b2c3d4e5f6', '00-0193f5a2b6c47d3e8f00a1b2c3d4e5f6-80000000000000aa-00'],
  ['a request id of another form', 'req_1', undefined],
])('the context of a request that was not chosen, from %s', (_, requestId, traceparent) => {
  expect(unsampledContext(requestId, '0193f5a2-b6c4-7d3e-8000-0000000000aa')).toEqual(traceparent && { traceparent });
});

test.each([
  ['req_0193f5a2b6c47d3e8f00a1b2c3d4e5f6', '0193f5a2b6c47d3e8f00a1b2c3d4e5f6'],
  ['req_00000000000000000000000000000000', undefined],
  ['req-1', undefined],
  ['', undefined],
])('the own trace id of request %j is %j', (requestId, traceId) => {
  expect(ownTraceId(requestId)).toBe(traceId);
});

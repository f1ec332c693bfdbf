import { renderTree } from '#testing/trace-collector.js';
import { TracedStack, treeWith } from './traced-stack.js';

/** Requests whose trace begins at the gateway and is not chosen: no message between the services has a trace context. */
let traced: TracedStack;
beforeAll(async () => {
  traced = await TracedStack.start({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
});
afterAll(() => traced?.stop());

test.each([false, true])('a request that fails is one tree, without its reserve in billing (streamed: %s)', async (stream) => {
  const fine = await traced.ask({ withTrace: false, stream });
  const failed = await traced.ask({ withTrace: false, stream, model: 'failing' });
  const spans = await traced.collected(failed.traceId, 7);
  const attempt = ['tollgate-inference-proxy client chat sim-fast FAILED'];
  const tree = treeWith('/v1/chat/completions', attempt, ' FAILED').filter((line) => !line.includes('apply reserve'));
  expect({ statuses: [fine.status, failed.status], fine: traced.collector.of(fine.traceId), failed: renderTree(spans) }).toEqual({
    statuses: [200, 502],
    fine: [],
    failed: tree,
  });
});

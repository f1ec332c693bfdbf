import { TracedStack } from './traced-stack.js';

/** `tollgate top` shows the traffic of the second in which it runs. */
let traced: TracedStack;
beforeAll(async () => {
  traced = await TracedStack.start();
});
afterAll(() => traced?.stop());

interface RouteTraffic {
  model: string;
  upstream: string;
  state: string;
  inFlight: number;
  callsPerSecond: number;
  failedPerSecond: number;
  promptTokensPerSecond: number;
  outputTokensPerSecond: number;
}

interface Traffic extends Omit<RouteTraffic, 'model' | 'upstream' | 'state'> {
  replicas: number;
  routes: RouteTraffic[];
  holds: { count: number; amountPicoUsd: string };
}

test('calls, failures and tokens of each route, requests in flight, and money on hold', async () => {
  const { usage } = JSON.parse((await traced.ask()).text) as { usage: { prompt_tokens: number; completion_tokens: number } };
  // fetch cancels the stream of a response that nobody refers to, so this one is kept until the end.
  const { response: silent } = await traced.open({ model: 'untraced', stream: true, directives: 'hang=2' });
  let isOver = false;
  const load = async (): Promise<void> => {
    while (!isOver) await Promise.all([traced.ask(), traced.ask({ model: 'failing' })]);
  };
  const loading = load();
  const [text, json] = await Promise.all([traced.tollgate('top'), traced.tollgate('top', '--json')]);
  isOver = true;
  await loading;
  await silent.body?.cancel();

  const { routes, holds, replicas } = JSON.parse(json) as Traffic;
  const findRoute = (model: string) => routes.find((route) => route.model === model) as RouteTraffic;
  const answered = findRoute('traced');
  const { callsPerSecond: calls } = answered;
  expect(calls).toBeGreaterThan(1);
  expect(answered).toMatchObject({ upstream: 'good', state: 'up', failedPerSecond: 0 });
  // Each rate is rounded to a tenth.
  const isMultiple = (rate: number, tokens: number): boolean => Math.abs(rate - calls * tokens) < 0.06 * (tokens + 1);
  expect({
    prompt: [answered.promptTokensPerSecond, isMultiple(answered.promptTokensPerSecond, usage.prompt_tokens)],
    output: [answered.outputTokensPerSecond, isMultiple(answered.outputTokensPerSecond, usage.completion_tokens)],
  }).toEqual({ prompt: [expect.any(Number), true], output: [expect.any(Number), true] });
  const failed = findRoute('failing');
  expect(failed.failedPerSecond).toBeGreaterThan(0);
  expect(failed).toMatchObject({ upstream: 'bad', callsPerSecond: failed.failedPerSecond, outputTokensPerSecond: 0 });
  expect(findRoute('untraced')).toMatchObject({ upstream: 'secretive', inFlight: 1, callsPerSecond: 0 });
  expect({ replicas, hasHolds: holds.count > 0 && BigInt(holds.amountPicoUsd) > 0n }).toEqual({ replicas: 1, hasHolds: true });

  const [totals, second] = text.split('\n');
  expect(totals).toMatch(
    /^[\d.]+ calls\/s, [\d.]+ failed\/s, [\d.,]+ tokens\/s in, [\d.,]+ tokens\/s out, [1-9]\d* in flight, \$[\d.]+ on hold in [1-9]\d* requests$/,
  );
  expect(second).toBe('1 replica of the inference-proxy');
  expect(text).toMatch(/^traced +good +sim-fast +up +\d+ +[1-9][\d.]* +0 +[1-9][\d.]* +[1-9]/m);
  expect(text).toMatch(/^failing +bad +sim-fast .+ \d+ +([\d.]+) +\1 +0 +0 /m);
  expect(text).toMatch(/^untraced +secretive +sim-fast +up +1 +0 +0 +0 +0 /m);
});

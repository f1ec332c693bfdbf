import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { requestShow } from '#contracts/billing/requests.js';
import { catalogApply, UPSTREAM_KINDS } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant, untilNoHolds, untilOffered } from '#testing/tenant.js';
import { type SimServer, startSimServer } from '../../apps/upstream-sim/src/sim-server.js';
import { type Agent, type AgentSetup, type Format, PATHS } from './agent.js';
import { AgentHome } from './agent-run.js';
import { installAgent } from './install-agent.js';
import { type RecordedRequest, RecordingProxy } from './recording-proxy.js';

/** `short-context` accepts less than the agent's configuration says: the gateway refuses above eight bytes for each token that the output leaves. */
const CONTEXT_TOKENS = { 'long-context': 131_072, 'short-context': 28_000 };
const OUTPUT_TOKENS = 8_192;
const PRICE = { inputUsdPerMTok: '0.15', cachedInputUsdPerMTok: '0.015', outputUsdPerMTok: '0.60' };
/**
 * Prompts of a conversation that outgrows `short-context`. One fits beside the agent's own prompt; agents that keep the last 20,000 tokens
 * find more than that after two.
 */
const LONG_PROMPT = `Remember this. ${'The boat is blue and green. '.repeat(2_150)}`;
const TURNS_MAX = 5;
/** Names of files that do not fit beside two such prompts. An agent may keep only some 8,000 characters of each. */
const LONG_FILES = Array.from({ length: 12 }, (_, file) => `long-${file}.txt`);
const LONG_FILE = `${'boat'.repeat(450)}\n`.repeat(20);
const LOOP_TURNS = 20;
const ORIGINAL = 'The "door"\tis green: ½ × 2, 東京 🚪\n';
const COPY = 'It\'s a "copy"\\n of 東京,\n\t½ of it. ✓\n';
/** A stream of minutes, of which the agent has enough after some of its text. */
const SLOW = '[[sim tokens=4000 rate=25]]';
const EVENTS_WITH_TEXT = 20;
const OVERFLOW_TITLES = {
  compacts: 'compacts and goes on when the conversation outgrows the context',
  'compacts-in-run': 'compacts and goes on when what its tools read outgrows the context',
  'compacts-whole': 'compacts and goes on when the upstream refuses the prompt as too long',
  stopsWith: 'stops with its own message when the conversation outgrows the context',
};
/** End of a text of the simulator. */
const SENTENCE = /[a-z]\.\s*$/;
const WAIT_MS_MAX = 120_000;

/**
 * Defines the tests of an agent in each of its formats: the program of npm runs unchanged against a system of the test's own, with a home of
 * its own. Skipped with the reason where npm does not give the package.
 */
export async function testAgent(agent: Agent): Promise<void> {
  const installed = await installAgent(agent);
  if ('missing' in installed) {
    console.warn(`${agent.name} is not tested: ${installed.missing}`);
    // Left out where npm does not give the package, for the reason in the title.
    describe.skip(`${agent.name} ${agent.version} (${installed.missing})`, () => defineTests(agent, ''));
  } else {
    describe(`${agent.name} ${agent.version}`, () => defineTests(agent, installed.program));
  }
}

/** Once as it is shipped, with all tests, and once with more fields in the list of models than the contract has. */
function defineTests(agent: Agent, program: string): void {
  defineTestsOn({}, agent, program);
  describe('with the facts of models in the list', () => defineTestsOn({ MODEL_FACTS: 'all' }, agent, program));
}

function defineTestsOn(env: Record<string, string>, agent: Agent, program: string): void {
  let stack: RunningStack;
  let sim: SimServer;
  let caching: SimServer;
  let administrator: Messaging;
  let bench: TestBench;
  beforeAll(async () => {
    [stack, sim, caching] = await Promise.all([
      startPrivateStack({ env }),
      startSimServer({ host: '127.0.0.1', port: 0 }),
      startSimServer({ host: '127.0.0.1', port: 0, defaults: 'cache' }),
    ]);
    administrator = await connectAdministrator(stack);
    await administrator.request(catalogApply, { yaml: JSON.stringify(catalogAt(sim, caching)) });
  });
  afterAll(async () => {
    await administrator?.close();
    await Promise.all([stack?.stop(), sim?.close(), caching?.close()]);
  });
  beforeEach(async () => {
    bench = await TestBench.create({ agent, program, stack, administrator });
  });
  afterEach(() => bench?.remove());

  describe.each(agent.formats)('%s', (format) => {
    test('reads a file and writes one, byte for byte, and every request is billed', async () => {
      writeFileSync(join(bench.workspace, 'original.txt'), ORIGINAL);
      const prompt = `${agent.callToRead(bench.findPath('original.txt'))} and ${agent.callToWrite(bench.findPath('copy.txt'), COPY, format)}`;
      const { code, output } = await bench.run(format, 'long-context', prompt);
      expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('The result is: ') });
      expect(readFileSync(join(bench.workspace, 'copy.txt'), 'utf8')).toBe(COPY);
      // The model heard the result of the first call.
      expect(bench.generations().some(({ body }) => Buffer.from(body, 'latin1').toString().includes('½ × 2, 東京 🚪'))).toBe(true);
      expect(new Set(bench.generations().map(({ path }) => path.split('?')[0]))).toEqual(new Set([PATHS[format]]));
      expect(await bench.readBills(bench.generations())).toEqual(bench.generations().map(() => [200, 'completed']));
    });

    if ('MODEL_FACTS' in env) return;

    const overflow = typeof agent.onOverflow === 'function' ? agent.onOverflow(format) : agent.onOverflow;
    test(OVERFLOW_TITLES[typeof overflow === 'object' ? 'stopsWith' : overflow], async () => {
      let output = '';
      if (overflow === 'compacts-whole') {
        await bench.run(format, 'long-context', LONG_PROMPT);
        ({ output } = await bench.run(format, 'long-context', `Now say ${bench.workspace}. [[sim overflow times=1]]`, true));
      } else if (overflow === 'compacts-in-run') {
        for (const name of LONG_FILES) writeFileSync(bench.findPath(name), LONG_FILE);
        const reads = LONG_FILES.map((name) => agent.callToRead(bench.findPath(name))).join(', ');
        ({ output } = await bench.run(format, 'short-context', `${LONG_PROMPT}${LONG_PROMPT}${reads}`));
      } else {
        for (let turn = 0; turn < TURNS_MAX && bench.overflows().length === 0; turn++) {
          ({ output } = await bench.run(format, 'short-context', LONG_PROMPT, turn > 0));
        }
      }
      expect(bench.overflows().length).toBeGreaterThan(0);
      expect(bench.generations()[0]?.status).toBe(200);
      if (typeof overflow === 'object') expect(output).toMatch(overflow.stopsWith);
      else {
        const { status, error } = bench.generations().at(-1) ?? {};
        expect({ status, error, output }).toEqual({ status: 200, error: '', output: expect.stringMatching(SENTENCE) });
      }
      await untilNoHolds(administrator, bench.tenant.accountId);
    });

    for (const kind of agent.keepsPrompts === true ? UPSTREAM_KINDS : []) {
      test(`20 turns read nine tenths of their prompts from the cache of an upstream of ${kind}`, async () => {
        const shares: number[] = [];
        for (let turn = 0; turn < LOOP_TURNS; turn++) {
          const before = bench.generations().length;
          await bench.run(format, kind, agent.callToWrite(bench.findPath(`${turn}.txt`), ORIGINAL, format), turn > 0);
          shares.push(await bench.measureCachedShare(bench.generations().slice(before)));
        }
        expect({ turns: shares.length, below: shares.slice(1).filter((share) => !(share >= 0.9)) }).toEqual({
          turns: LOOP_TURNS,
          below: [],
        });
      }, 600_000);
    }

    test('Ctrl-C in mid-stream ends the request at the upstream, and what came is billed', async () => {
      const { ended, interrupt } = bench.start(format, 'long-context', `Tell me a long story. ${SLOW}`);
      const streaming = () => bench.generations().filter((one) => one.status === 200 && !one.ended);
      const waiting = bench.proxy.until(
        // Not that for the title of the session.
        () => streaming().some(({ body, events }) => body.includes('"tools":') && body.includes(SLOW) && events > EVENTS_WITH_TEXT),
        AbortSignal.timeout(WAIT_MS_MAX),
      );
      await Promise.race([waiting, ended.then((end) => Promise.reject(new Error(`ended before: ${JSON.stringify(end)}`)))]);
      const cancelled = streaming();
      interrupt();
      await ended;
      await untilNoHolds(administrator, bench.tenant.accountId);
      expect(await bench.readBills(cancelled)).toEqual(cancelled.map(() => [200, 'client-disconnected']));
      const { reserved_pico_usd } = await readBalance(stack.gatewayUrl, bench.tenant.apiKey);
      const { open } = (await (await fetch(`${sim.url}/sim/stats`)).json()) as { open: number };
      expect({ reserved_pico_usd, open }).toEqual({ reserved_pico_usd: '0', open: 0 });
    });
  });
}

/** Models at an upstream that caches nothing, and one at an upstream of each kind that caches. */
function catalogAt(sim: SimServer, caching: SimServer): object {
  const makeUpstream = (id: string, kind: UpstreamKind, { url }: SimServer): object => ({
    ...{ id, kind, baseUrl: `${url}/v1`, allowPrivateNetwork: true },
    ...(kind === 'openai-chat' && { capabilities: { cacheKey: 'prompt_cache_key' } }),
  });
  const makeModel = (id: string, contextTokens: number, upstream: string): object => ({
    ...{ id, contextTokens, ownedBy: 'tollgate', maxOutputTokens: OUTPUT_TOKENS, defaultOutputTokens: OUTPUT_TOKENS },
    ...{ input: ['text'], price: PRICE, routes: [{ upstream, model: 'sim-fast' }] },
  });
  return {
    upstreams: [makeUpstream('sim', 'openai-chat', sim), ...UPSTREAM_KINDS.map((kind) => makeUpstream(kind, kind, caching))],
    models: [
      // Some agents choose the format by the name of the model.
      ...Object.entries(CONTEXT_TOKENS).flatMap(([name, tokens]) => [name, `gpt-5-${name}`].map((id) => makeModel(id, tokens, 'sim'))),
      ...UPSTREAM_KINDS.map((kind) => makeModel(kind, CONTEXT_TOKENS['long-context'], kind)),
    ],
  };
}

type UpstreamKind = (typeof UPSTREAM_KINDS)[number];
type ModelName = keyof typeof CONTEXT_TOKENS | UpstreamKind;

interface BenchParts {
  agent: Agent;
  program: string;
  stack: RunningStack;
  administrator: Messaging;
}

/** A tenant, a home for the agent and the proxy between both, for one test. */
class TestBench {
  private constructor(
    private readonly parts: BenchParts,
    private readonly home: AgentHome,
    readonly proxy: RecordingProxy,
    readonly tenant: Tenant,
  ) {}

  static async create(parts: BenchParts): Promise<TestBench> {
    const { agent, program, stack, administrator } = parts;
    const tenant = await createTenant(administrator);
    await untilOffered(stack.gatewayUrl, tenant.apiKey, [...Object.keys(CONTEXT_TOKENS), ...UPSTREAM_KINDS]);
    return new TestBench(parts, new AgentHome(agent, program), await RecordingProxy.to(stack.gatewayUrl), tenant);
  }

  get workspace(): string {
    return this.home.workspace;
  }

  findPath(name: string): string {
    return join(this.workspace, name);
  }

  start(format: Format, model: ModelName, prompt: string, continues = false): ReturnType<AgentHome['start']> {
    const setup: AgentSetup = {
      ...{ format, model, gatewayUrl: this.proxy.url, apiKey: this.tenant.apiKey, workspace: this.workspace },
      ...{ contextTokens: CONTEXT_TOKENS['long-context'], outputTokens: OUTPUT_TOKENS },
    };
    return this.home.start(prompt, setup, continues);
  }

  run(...run: Parameters<TestBench['start']>): ReturnType<AgentHome['start']>['ended'] {
    return this.start(...run).ended;
  }

  /** Requests that a model answers. */
  generations(): RecordedRequest[] {
    const paths = Object.values(PATHS);
    return this.proxy.requests.filter(({ method, path }) => method === 'POST' && paths.includes(path.split('?')[0] ?? ''));
  }

  overflows(): RecordedRequest[] {
    return this.generations().filter(({ status, error }) => status === 400 && error.includes('prompt is too long'));
  }

  /** Status and reason of the settlement of each request. */
  async readBills(requests: RecordedRequest[]): Promise<[number, string | undefined][]> {
    await untilNoHolds(this.parts.administrator, this.tenant.accountId);
    const shown = requests.map(({ requestId }) => this.parts.administrator.request(requestShow, { requestId }));
    return (await Promise.all(shown)).map(({ settlement }, index) => [requests[index]?.status ?? 0, settlement?.reason]);
  }

  /** Returns the part of the prompts of requests that their upstream has read from its cache. */
  async measureCachedShare(requests: RecordedRequest[]): Promise<number> {
    await untilNoHolds(this.parts.administrator, this.tenant.accountId);
    const bills = await Promise.all(requests.map(({ requestId }) => this.parts.administrator.request(requestShow, { requestId })));
    const usages = bills.flatMap(({ settlement }) => settlement?.usage ?? []);
    const sumUsage = (name: 'promptTokens' | 'cachedTokens'): number => usages.reduce((sum, usage) => sum + usage[name], 0);
    return sumUsage('cachedTokens') / sumUsage('promptTokens');
  }

  async remove(): Promise<void> {
    await this.home.remove();
    await this.proxy.close();
  }
}

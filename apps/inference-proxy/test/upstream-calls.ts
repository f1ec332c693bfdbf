import type { Upstream } from '#contracts/catalog.js';
import type { GenerateRequest } from '#contracts/inference.js';
import type { InferenceRequest } from '#inference/request.js';
import { isContent, type StreamEvent } from '#inference/stream-event.js';
import { callUpstream } from '../src/calls/call-upstream.js';
import type { CallTarget } from '../src/calls/post-call.js';
import { UsageMeter } from '../src/calls/usage-meter.js';
import { UpstreamFailure } from '../src/failures/upstream-failure.js';
import { createUpstreamPool } from '../src/transport/upstream-pool.js';
import { ADAPTERS } from '../src/upstreams/adapters.js';
import { CAPABILITIES } from './conformance.js';
import { grammarFault } from './event-grammar.js';

/** Long enough that a busy machine does not look like an idle upstream. */
export const PATIENT = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 120_000 };

export function upstreamAt(baseUrl: string, over: Partial<Upstream> = {}): Upstream {
  return {
    id: 'test',
    kind: 'openai-chat',
    baseUrl,
    apiKeyEnv: null,
    allowPrivateNetwork: true,
    capabilities: CAPABILITIES,
    timeouts: PATIENT,
    connectionsMax: 8,
    ...over,
  };
}

export interface CallSetting {
  request?: Partial<InferenceRequest>;
  outputTokensMax?: number;
  promptTokensEstimate?: number;
  signal?: AbortSignal;
}

/** Calls one upstream, from the socket to the events and the bill, without routes, retries and leases. */
export class TestCalls {
  private readonly client: CallTarget['client'];

  constructor(
    upstream: Upstream,
    private readonly model = 'their-model',
  ) {
    const { pathname } = new URL(upstream.baseUrl);
    const pool = createUpstreamPool(upstream);
    this.client = { adapter: ADAPTERS[upstream.kind], upstream, pool, basePath: pathname.replace(/\/*$/, '/'), addressError: undefined };
  }

  start(
    { request, outputTokensMax = 100, promptTokensEstimate = 20, signal = new AbortController().signal }: CallSetting,
    meter: UsageMeter,
  ) {
    const job = { ticket: { ...makeTicket(outputTokensMax), promptTokensEstimate }, request: { ...REQUEST, ...request } };
    return callUpstream({ client: this.client, model: this.model }, job, meter, undefined, signal);
  }

  /**
   * Returns all events of one call, with the end of a failure (`InferenceRun.closing`): received content is billed, and without content
   * nothing is. Checks their grammar.
   */
  async collect(setting: CallSetting = {}): Promise<StreamEvent[]> {
    const meter = new UsageMeter(makeTicket(setting.outputTokensMax ?? 100));
    const events: StreamEvent[] = [];
    try {
      for await (const batch of this.start(setting, meter)) events.push(...batch);
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      if (events.some(isContent)) events.push({ type: 'usage-report', usage: meter.soFar() });
      events.push({ type: 'completion-failure', code: error.code, message: error.message, retryAfterSeconds: error.retryAfterSeconds });
    }
    const fault = grammarFault(events, 'terminal');
    if (fault !== undefined) throw new Error(`${fault}: ${JSON.stringify(events).slice(0, 2_000)}`);
    return joined(events);
  }

  async close(): Promise<void> {
    await this.client.pool.destroy();
  }
}

function makeTicket(outputTokensMax: number): GenerateRequest['ticket'] {
  return {
    holdId: '01990000-0000-7000-8000-000000000001',
    accountId: '01990000-0000-7000-8000-000000000002',
    requestId: 'req_1',
    outputTokensMax,
    promptTokensEstimate: 20,
    leaseMs: 60_000,
  };
}

const REQUEST: InferenceRequest = {
  model: 'our-model',
  turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  tools: [],
  output: { kind: 'text' },
  stream: true,
  hints: {},
};

/** Joins neighbouring deltas of one text, so that cuts make no difference. */
function joined(events: readonly StreamEvent[]): StreamEvent[] {
  const all: StreamEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    if (event.type === 'text-delta' && last?.type === 'text-delta') all[all.length - 1] = { ...last, text: last.text + event.text };
    else all.push(event);
  }
  return all;
}

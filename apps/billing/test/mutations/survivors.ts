import type { MutationsByFile } from './mutation.js';

const KEEPER = 'apps/inference-proxy/src/leases/lease-keeper.test.ts';
const LATE = 'apps/inference-proxy/src/leases/settle-for-gateway.test.ts';
const RUN = 'apps/inference-proxy/src/calls/inference-run.test.ts';
const LEFT = 'apps/inference-proxy/src/calls/client-disconnected.test.ts';
const STREAM = 'apps/inference-proxy/src/calls/stream-inference.test.ts';
const SHAPER = 'apps/inference-proxy/src/calls/reply-shaper.test.ts';
const PIPELINE = 'apps/gateway/src/pipeline/run-inference.test.ts';

/** The gateway and the inference-proxy: the survivor settles, and nothing is spent after a lease or beyond a hold. */
export const MUTATIONS_OF_SURVIVORS: MutationsByFile = {
  'apps/inference-proxy/src/leases/lease-keeper.ts': [
    ['the proxy fences itself', 'now - lease.renewedAt >= lease.ticket.leaseMs * 0.75', 'false', KEEPER, 'without acknowledgement'],
    [
      'a hold that is not open is lost',
      "if (!renewed.has(holdId)) this.lose(lease, 'hold no longer open');",
      'if (!renewed.has(holdId)) continue;',
      KEEPER,
      'a hold that is no longer open',
    ],
    ['a revoked key stops its requests', 'else if (stop.has(holdId))', 'else if (false)', KEEPER, 'a request whose key was revoked'],
    ['it asks whether the ended are settled', 'if (open.has(holdId)) tell();', ';', KEEPER, 'asks once after a delay'],
    [
      'it asks until there is an answer',
      'this.ended = [...ended, ...this.ended].slice(-REMEMBERED_MAX);',
      '',
      KEEPER,
      'asks again about ended requests',
    ],
  ],
  'apps/inference-proxy/src/leases/settle-for-gateway.ts': [
    ['a late settlement is asked for again', 'if (this.closing.signal.aborted) return;', 'return;', LATE, 'retries while billing is away'],
    [
      'a gateway that lives settles itself',
      'if (!(await gateway.callerIsThere())) {',
      'if (await gateway.callerIsThere().then(() => true)) {',
      LATE,
      'a live gateway settles itself',
    ],
    [
      'what is settled is forgotten',
      'if (!(await this.isOpen(holdId))) return;',
      'await this.isOpen(holdId);',
      LATE,
      'a hold that its gateway has settled',
    ],
  ],
  'apps/inference-proxy/src/calls/inference-run.ts': [
    [
      'the proxy settles what its reader has left',
      'if (!this.run.onReaderLeft()) this.schedule();',
      'this.run.onReaderLeft();',
      RUN,
      'a request whose reader left',
    ],
    [
      'the proxy settles requests without a settlement',
      'return this.reader.signal.aborted ? undefined : () => this.schedule(0);',
      'return undefined;',
      RUN,
      'a hold that its gateway left unsettled',
    ],
    [
      'only a client that has left is read on for',
      'if (!isClientGone || call === undefined',
      'if (call === undefined',
      LEFT,
      'a lost gateway closes the upstream',
    ],
    ['reading on has a bound', 'setTimeout(stop, readOnMs)', 'setTimeout(() => undefined, readOnMs)', LEFT, 'without a report in time'],
    [
      'a shutdown ends what is read on',
      "shutdown.addEventListener('abort', stop, { once: true });",
      '',
      LEFT,
      'a shutdown ends the reading',
    ],
    ['hidden output has a floor', 'meter.withHidden(hiddenTokensFloor)', 'meter.soFar()', LEFT, 'without a report in time'],
    [
      'a failed reply is no dearer for who has left',
      'else if (request.stream && meter.hasContent) usage',
      'else usage',
      LEFT,
      'as if the client had stayed: nothing',
    ],
    [
      'a revoked key stops the upstream',
      'this.loss = loss;\n        this.halt(',
      'this.loss = loss;\n        Error(',
      RUN,
      'a lease that is revoked',
    ],
  ],
  'apps/inference-proxy/src/calls/reply-shaper.ts': [
    [
      'an upstream that ignores its cap is cut',
      'this.meter.outputTokensEstimate > this.runawayTokens',
      'false',
      SHAPER,
      'is cut by estimate',
    ],
    [
      'what a stop sequence cuts off is billed',
      "if (event.type === 'usage-report') this.meter.report(event.usage);",
      "if (event.type === 'usage-report') return;",
      STREAM,
      'is found across deltas: the rest is read',
    ],
  ],
  'apps/inference-proxy/src/calls/usage-meter.ts': [
    ['an abandoned prompt is billed', 'this.owesPrompt = this.hasBegun;', '', LEFT, 'after the upstream has answered'],
    [
      'a prompt that was not read costs nothing',
      'this.owesPrompt = this.hasBegun;',
      'this.owesPrompt = true;',
      LEFT,
      'as soon as it was sent: nothing',
    ],
    ['hidden output stays within the cap', 'withinCap(hidden, this.caps.outputTokensMax)', 'hidden', LEFT, 'pays no more than the cap'],
  ],
  'apps/gateway/src/pipeline/settle-on-end.ts': [
    [
      'a settlement is retried until it is recorded',
      'await delay(pauseMs / 2 + (Math.random() * pauseMs) / 2);',
      'return undefined;',
      PIPELINE,
      'an unavailable billing delays the reply',
    ],
    [
      'the client waits for a limited time',
      'setTimeout(() => resolve(undefined), this.limits.settleAnswerMs)',
      'setTimeout(() => resolve(undefined), 1_000 * this.limits.settleAnswerMs)',
      PIPELINE,
      'an unavailable billing delays the reply',
    ],
  ],
  'apps/gateway/src/pipeline/run-inference.ts': [
    ['settle, then finish', 'const settled = await settle(', 'const settled = settle(', PIPELINE, 'the reply is finished only after'],
    [
      'the gateway does not settle what the proxy settles',
      "if (outcome === 'client-disconnected' && meter.isDeferred) {",
      'if (outcome === undefined) {',
      PIPELINE,
      'the proxy settles, and the record says so',
    ],
    [
      'the proxy detaches only for a disconnected client',
      'cancel({ detach: isClientDisconnected(stopped) })',
      'cancel({ detach: true })',
      PIPELINE,
      'the proxy may not detach',
    ],
    [
      'a hold with an unknown outcome is released',
      '() => void services.settlements.settle(released, logFields(call))',
      '() => undefined',
      PIPELINE,
      'with an unknown outcome',
    ],
  ],
};

import { API_KEY_PREFIX, API_KEY_RANDOM_LENGTH, apiKeyChecksum } from '#contracts/api-key.js';
import {
  type HoldApplyReply,
  type HoldApplyRequest,
  holdApply,
  type ReserveOutcome,
  type ReserveRequest,
  type SettleRequest,
} from '#contracts/billing/holds.js';
import { keyResolve } from '#contracts/billing/keys.js';
import { type CatalogModel, modelList } from '#contracts/catalog.js';
import { type GenerateRequest, generate } from '#contracts/inference.js';
import { ServiceError } from '#contracts/service-error.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { FakeEventStream, FakeMessaging } from './fake-messaging.js';

export const TEST_MODEL: CatalogModel = {
  id: 'test-model',
  ownedBy: 'tests',
  created: 1_750_000_000,
  contextTokens: 4_000,
  maxOutputTokens: 1_000,
  defaultOutputTokens: 500,
  input: ['text'],
  reasoning: true,
  tokensPerImageMax: 1_000,
  reasoningEcho: false,
  price: { version: 7, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' },
};

/** Returns a valid API key, the same for the same number. */
export function testKey(number: number): string {
  const body = `${API_KEY_PREFIX}${String(number).padStart(API_KEY_RANDOM_LENGTH, '0')}`;
  return body + apiKeyChecksum(body);
}

export const TEST_KEY = testKey(0);
export const TEST_CALLER = {
  keyId: '11111111-1111-4111-8111-111111111111',
  projectId: '22222222-2222-4222-8222-222222222222',
  accountId: '33333333-3333-4333-8333-333333333333',
};

/** Fakes of billing, catalog and inference-proxy for tests of the gateway. They record requests, and accept every valid key. */
export class FakeServices {
  readonly messaging = new FakeMessaging();
  models: CatalogModel[] = [TEST_MODEL, { ...TEST_MODEL, id: 'vision/model', input: ['text', 'image'], reasoningEcho: true }];
  readonly reserves: ReserveRequest[] = [];
  readonly settles: SettleRequest[] = [];
  /** Number of `hold.apply` messages. */
  applies = 0;
  readonly opened: GenerateRequest[] = [];
  /** Called before each `hold.apply` is answered. Throw to make billing unavailable. */
  beforeApply: (request: HoldApplyRequest) => void | Promise<void> = () => undefined;
  /** Outcome of a settlement. */
  settleOutcome: (request: SettleRequest) => HoldApplyReply['settles'][number] = ({ holdId, usage }) => ({
    status: 'settled',
    holdId,
    costPicoUsd: usage ? '1000' : '0',
  });
  reserveOutcome: (request: ReserveRequest) => ReserveOutcome = ({ holdId }) => ({ status: 'held', holdId, leaseMs: 60_000 });
  /** Serves a generation; replies `Hello.` by default. */
  model: (stream: FakeEventStream<StreamEvent>, work: GenerateRequest) => void = (stream) => {
    stream.write(...HELLO);
    stream.end();
  };

  constructor() {
    const { messaging } = this;
    messaging.answer(modelList, () => ({ revision: 1, models: this.models }));
    messaging.answer(keyResolve, () => TEST_CALLER);
    messaging.answer(holdApply, async (request) => {
      this.applies++;
      await this.beforeApply(request);
      this.settles.push(...request.settles);
      this.reserves.push(...request.reserves);
      return {
        settles: request.settles.map((settle) => this.settleOutcome(settle)),
        reserves: request.reserves.map((reserve) => this.reserveOutcome(reserve)),
      };
    });
    messaging.serve(generate, (work, stream) => {
      this.opened.push(work);
      this.model(stream, work);
    });
  }

  refuseKeys(): void {
    this.messaging.answer(keyResolve, () => {
      throw new ServiceError('invalid_api_key', 'no such key');
    });
  }
}

export const HELLO: StreamEvent[] = [
  { type: 'upstream-start', upstream: 'local' },
  { type: 'text-delta', text: 'Hel' },
  { type: 'text-delta', text: 'lo.' },
  {
    type: 'usage-report',
    usage: { promptTokens: 9, cachedTokens: 4, outputTokens: 2, reasoningTokens: 0, promptSource: 'reported', outputSource: 'reported' },
  },
  { type: 'completion-finish', reason: 'stop' },
];

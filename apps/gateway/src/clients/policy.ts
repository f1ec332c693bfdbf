import { POLICY_REPLY_BYTES_MAX, POLICY_REQUEST_BYTES_MAX, type PolicyDecideRequest, policyDecide } from '#contracts/policy.js';
import { ServiceError } from '#contracts/service-error.js';
import { EncodedJson } from '#messaging/encoded-json.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import type { TraceContext } from '#tracing/trace-context.js';

/** Ways in which a policy can fail, beside a request that got no turn. */
export type PolicyFailureReason = 'timeout' | 'unavailable' | 'overloaded' | 'too-large' | 'error' | 'invalid';

/** A question that got no verdict. It has no words of the policy, which may repeat the prompt. */
export class PolicyFailure extends Error {
  override readonly name = 'PolicyFailure';

  constructor(readonly reason: PolicyFailureReason) {
    super(`the policy failed: ${reason}`);
  }
}

/** A question without its texts. */
export type PolicyFacts = Omit<PolicyDecideRequest, 'texts'>;

interface AskOptions {
  timeoutMs: number;
  signal: AbortSignal;
  trace: TraceContext | undefined;
}

/** Asks policies, which are programs of the operator on NATS. */
export class PolicyClient {
  constructor(private readonly messaging: Messaging) {}

  /**
   * Returns the reply as the policy sent it; `texts` is JSON, absent when they are not sent.
   * @throws {PolicyFailure}
   */
  async ask(name: string, facts: PolicyFacts, texts: string | Uint8Array | undefined, options: AskOptions): Promise<unknown> {
    const bytes = encode(facts, texts);
    if (bytes.length > POLICY_REQUEST_BYTES_MAX) throw new PolicyFailure('too-large');
    try {
      const question = new EncodedJson(bytes, () => undefined);
      return await this.messaging.request(policyDecide.named(name), question, { ...options, replyBytesMax: POLICY_REPLY_BYTES_MAX });
    } catch (error) {
      throw new PolicyFailure(findReason(error));
    }
  }
}

function encode(facts: PolicyFacts, texts: string | Uint8Array | undefined): Buffer {
  const head = JSON.stringify(facts);
  if (texts === undefined) return Buffer.from(head);
  return Buffer.concat([Buffer.from(`${head.slice(0, -1)},"texts":`), Buffer.from(texts as string), Buffer.from('}')]);
}

function findReason(error: unknown): PolicyFailureReason {
  if (error instanceof ServiceError) return 'error';
  if (!(error instanceof MessagingError)) return 'invalid';
  switch (error.kind) {
    case 'unavailable':
      return 'unavailable';
    case 'broken':
      return 'invalid';
    default:
      return 'timeout';
  }
}

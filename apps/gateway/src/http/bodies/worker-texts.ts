import type { RedactedSpan } from '#contracts/policy.js';
import type { Caller } from '../../clients/caller.js';
import { EncodedRequest } from '../../encoded-request.js';
import type { LargeTexts } from '../../pipeline/policy/policies.js';
import type { BodyWorkers } from './body-workers.js';

/** Lists and redacts the texts of large requests in the threads that parse bodies, in turns with them. */
export class WorkerTexts implements LargeTexts {
  constructor(private readonly workers: Pick<BodyWorkers, 'parse'>) {}

  async list(request: EncodedRequest, owner: Caller, signal: AbortSignal): Promise<Uint8Array> {
    return (await this.workers.parse('list-texts', request.copyJson(), owner, signal)).json;
  }

  async redact(
    request: EncodedRequest,
    spans: readonly RedactedSpan[],
    owner: Caller,
    signal: AbortSignal,
  ): Promise<EncodedRequest | undefined> {
    const head = Buffer.from(`{"spans":${JSON.stringify(spans)},"request":`);
    const body = Buffer.concat([head, request.copyJson(), Buffer.from('}')]);
    const { summary, json } = await this.workers.parse('redact-texts', body, owner, signal);
    return json.length === 0 ? undefined : new EncodedRequest(summary, json, request.onSent);
  }
}

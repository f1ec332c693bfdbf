import type { Logger } from '#observability/logger.js';
import { ConnectionFault } from './connection-fault.js';
import type { UpstreamFailure } from './upstream-failure.js';

interface FailedCall {
  requestId: string;
  traceId: string | undefined;
  keyId: string | undefined;
  holdId: string;
  upstream: string;
  /** The model's name in the catalog. */
  model: string;
  /** The model's name at the upstream. */
  upstreamModel: string;
}

/** Logs one line for a failed call: an error when the operator has to act, otherwise a warning. The upstream's text is not logged. */
export function logFailure(logger: Logger, failure: UpstreamFailure, call: FailedCall): void {
  const { kind, code, detail, refusal } = failure;
  const fields = { ...call, kind, code, ...refusal, detail };
  if (code === 'internal_error') logger.error({ ...fields, err: failure.cause }, 'upstream call failed: internal error');
  else if (failure.isOperatorsFault) logger.error(fields, adviceOn(failure));
  else logger.warn(fields, 'upstream call failed');
}

function adviceOn({ kind, cause }: UpstreamFailure): string {
  if (cause instanceof ConnectionFault)
    return 'cannot connect to upstream: check baseUrl and tls of its catalog entry, and the certificates on both sides';
  if (kind === 'credential') return 'no credential for upstream: check auth of its catalog entry, its secrets and who issues its tokens';
  if (kind === 'denied') return 'upstream denies access: check its key and quota';
  if (kind === 'refused') return 'upstream refuses calls: check the model name there, and the permissions of the key';
  return 'cannot call upstream: check the address in its catalog entry';
}

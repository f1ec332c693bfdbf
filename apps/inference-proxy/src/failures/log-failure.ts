import type { Logger } from '#observability/logger.js';
import { ConnectionFault } from '../transport/connection-fault.js';
import type { UpstreamFailure } from './upstream-failure.js';

export interface FailedCall {
  requestId: string;
  holdId: string;
  upstream: string;
  /** As clients call it. */
  model: string;
  /** As the upstream calls it. */
  upstreamModel: string;
}

/** One line a failed call; an error where an operator is needed, with where to look. */
export function logFailure(logger: Logger, failure: UpstreamFailure, call: FailedCall): void {
  const { kind, code, detail } = failure;
  const fields = { ...call, kind, code, detail };
  if (code === 'internal_error') logger.error({ ...fields, err: failure.cause }, 'upstream call failed on our side');
  else if (failure.isOperatorsFault) logger.error(fields, adviceOn(failure));
  else logger.warn(fields, 'upstream call failed');
}

function adviceOn({ kind, cause }: UpstreamFailure): string {
  if (cause instanceof ConnectionFault)
    return 'upstream cannot be called: check baseUrl and tls of its entry in the catalog, and certificates on both sides';
  if (kind === 'denied') return 'upstream refuses us: check its key and quota';
  if (kind === 'refused') return 'upstream refuses us: check the name of the model there, and what its key may do';
  return 'upstream cannot be called: check its address, as its entry in the catalog has it';
}

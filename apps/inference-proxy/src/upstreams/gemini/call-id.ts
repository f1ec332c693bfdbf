import { splitCallId } from '#inference/signed-call-id.js';

/** Stands for a signature that the client did not keep, or that another upstream never made. Gemini documents it for such histories. */
const NO_SIGNATURE = 'skip_thought_signature_validator';

/**
 * Returns the id as the upstream knows it, and the signature that it requires with the call. `requiresSignature`: its models refuse calls
 * without one.
 */
export function renderCallId(signed: string, requiresSignature: boolean): { id: string; thoughtSignature: string | undefined } {
  const { callId, signature } = splitCallId(signed);
  return { id: callId, thoughtSignature: signature ?? (requiresSignature ? NO_SIGNATURE : undefined) };
}

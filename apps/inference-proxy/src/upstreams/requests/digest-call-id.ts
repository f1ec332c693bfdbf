import { createHash } from 'node:crypto';

const PREFIX = 'call_';

/** Returns an id of letters, digits and `_`, the same for the same id. Halves of characters are told apart, which UTF-8 cannot do. */
export function digestCallId(callId: string, length: number): string {
  const text = callId.isWellFormed() ? callId : JSON.stringify(callId);
  return (
    PREFIX +
    createHash('sha256')
      .update(text)
      .digest('hex')
      .slice(0, length - PREFIX.length)
  );
}

import { createHash } from 'node:crypto';

const PREFIX = 'call_';

/** Returns an id of letters, digits and `_`, the same for the same id. Ids that differ in half a character differ, which UTF-8 would lose. */
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

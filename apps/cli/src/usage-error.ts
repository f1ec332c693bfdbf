/** Thrown for values that contradict each other, ids that fit none or several, and unreadable files. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

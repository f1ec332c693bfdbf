/** A dialog that a call waits for. */
export type Interruption = 'sign-in' | 'confirm';

interface Waiting {
  kind: Interruption;
  /** Resolves to true when the calls may be made again. */
  done: Promise<boolean>;
  end: (goOn: boolean) => void;
}

let waiting: Waiting | undefined;
const listeners = new Set<() => void>();

/** Shows the dialog, one for all calls that need it. Resolves to true when the calls may be made again. */
export function interrupt(kind: Interruption): Promise<boolean> {
  if (waiting?.kind === kind) return waiting.done;
  // A session that ended while a confirmation is open needs the sign-in alone, which confirms as well.
  waiting?.end(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  waiting = { kind, done: promise, end: resolve };
  tellListeners();
  return promise;
}

export function endInterruption(goOn: boolean): void {
  waiting?.end(goOn);
  waiting = undefined;
  tellListeners();
}

export function currentInterruption(): Interruption | undefined {
  return waiting?.kind;
}

export function onInterruption(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tellListeners(): void {
  for (const listener of listeners) listener();
}

import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const TRIES = 20;

/** Resolves once the garbage collector has taken it; rejects when something still holds it after many collections. */
export async function untilCollected(target: WeakRef<object>): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let n = 0; n < TRIES; n++) {
    await turn(); // what a WeakRef was asked for lives until the turn is over
    collect();
    if (target.deref() === undefined) return;
  }
  throw new Error('something still holds it');
}

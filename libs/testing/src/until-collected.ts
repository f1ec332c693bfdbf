import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const TRIES = 20;

/** Resolves when `target` has been garbage-collected. Rejects when it is still referenced after 20 collections. */
export async function untilCollected(target: WeakRef<object>): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let n = 0; n < TRIES; n++) {
    await turn(); // a dereferenced target lives until the end of the turn
    collect();
    if (target.deref() === undefined) return;
  }
  throw new Error('the target is still referenced');
}

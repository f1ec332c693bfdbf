import { hash } from 'node:crypto';
import type { ToolKey } from '#inference/tool.js';

/**
 * Assigns the tools of one request names for the upstream: safe (`[A-Za-z0-9_-]{1,64}`) and unique. A safe name that is free is kept. Any
 * other gets a hash of its key, not a counter, so that it is the same in the next request of the conversation; a changed name would
 * invalidate the upstream's prompt cache.
 */
export class WireNames {
  private readonly byKey = new Map<string, string>();
  private readonly taken = new Set<string>();

  /** Returns the same name for the same key, so that a call in the history matches its declaration. */
  nameFor(key: ToolKey): string {
    const identity = key.namespace === undefined ? `:${key.name}` : JSON.stringify([key.namespace, key.name]);
    let name = this.byKey.get(identity);
    if (name === undefined) {
      name = this.freeName(key, identity);
      this.byKey.set(identity, name);
      this.taken.add(name);
    }
    return name;
  }

  private freeName(key: ToolKey, identity: string): string {
    if (SAFE.test(key.name) && !this.taken.has(key.name)) return key.name;
    for (let attempt = 0; ; attempt++) {
      const digest = hash('sha256', `${attempt}:${identity}`).slice(0, HASH_LENGTH);
      const readable = key.name.slice(0, NAME_LENGTH_MAX - HASH_LENGTH - 1).replace(/[^A-Za-z0-9_-]/g, '_');
      const name = `${readable}_${digest}`;
      if (!this.taken.has(name)) return name;
    }
  }
}

const NAME_LENGTH_MAX = 64;
const HASH_LENGTH = 10;
const SAFE = /^[A-Za-z0-9_-]{1,64}$/;

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const DEFAULT_FOLDER = '/run/secrets';
const LOOK_EVERY_MS = 1_000;
const BYTES_MAX = 256 * 1024;

/** A relative path without `..`, and no hidden file: nothing outside the folder of secrets can be named. */
const NAME = /^\w[\w.-]*(\/\w[\w.-]*){0,3}$/;

/**
 * A secret in a file, which may be replaced at any time: a new one is in use within a second. Reading it costs nothing but a
 * look at the file's times, once a second at most. Files are those of `UPSTREAM_SECRETS_DIR` (default `/run/secrets`): whoever may
 * name a secret must not be able to read the machine with it.
 */
export class SecretFile {
  /** Another number with every content. */
  version = 0;
  private content: Buffer | undefined;
  private seen = '';
  private lookedAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly name: string,
    private readonly folder = process.env.UPSTREAM_SECRETS_DIR || DEFAULT_FOLDER,
  ) {}

  /** Undefined when there is no such file that can be read. */
  read(): Buffer | undefined {
    const now = performance.now();
    if (now - this.lookedAt >= LOOK_EVERY_MS) {
      this.lookedAt = now;
      this.look();
    }
    return this.content;
  }

  private look(): void {
    const seen = this.describe();
    if (seen === this.seen) return;
    this.seen = seen;
    this.version += 1;
    this.content = seen === '' ? undefined : this.load();
  }

  /** What tells one content from another; empty when there is none. A link is followed: that is how Kubernetes replaces files. */
  private describe(): string {
    if (!NAME.test(this.name)) return '';
    const stat = statSync(this.path, { throwIfNoEntry: false });
    return stat?.isFile() && stat.size <= BYTES_MAX ? `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}` : '';
  }

  private load(): Buffer | undefined {
    try {
      return readFileSync(this.path);
    } catch {
      this.seen = ''; // it went away in between, or may not be read: looked at again
      return undefined;
    }
  }

  private get path(): string {
    return join(this.folder, this.name);
  }
}

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
  /** The system's word for why it cannot be read (`EACCES`); undefined where it can be, and where there just is none. */
  fault: string | undefined;
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
    this.fault = undefined;
    try {
      const seen = this.describe();
      if (seen === this.seen) return;
      this.content = seen === '' ? undefined : readFileSync(this.path);
      this.seen = seen;
    } catch (error) {
      this.fault = (error as NodeJS.ErrnoException).code ?? 'unknown';
      this.content = undefined;
      this.seen = '';
    }
    this.version += 1;
  }

  /**
   * What tells one content from another; empty when there is none. A link is followed: that is how Kubernetes replaces files. Throws
   * for what is there and cannot be read, such as the folder that Docker makes of a file it does not find.
   */
  private describe(): string {
    if (!NAME.test(this.name)) return '';
    const stat = statSync(this.path, { throwIfNoEntry: false });
    if (stat === undefined) return '';
    if (!stat.isFile()) throw Object.assign(new Error('no file'), { code: stat.isDirectory() ? 'EISDIR' : 'EINVAL' });
    if (stat.size > BYTES_MAX) throw Object.assign(new Error('no secret is so long'), { code: 'EFBIG' });
    return `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
  }

  private get path(): string {
    return join(this.folder, this.name);
  }
}

import { readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';

const DEFAULT_FOLDER = '/run/secrets';
const CHECK_INTERVAL_MS = 1_000;
const BYTES_MAX = 256 * 1024;

/**
 * A relative path without `..` or hidden files, so that a name cannot reach outside the folder of secrets. Not the folder in which Kubernetes
 * puts the token of a pod.
 */
const NAME = /^(?!(.*\/)?kubernetes\.io(\/|$))\w[\w.-]*(\/\w[\w.-]*){0,3}$/;

/** Settings that name secrets of Tollgate itself, which may lie in the same folder. */
const OWN_FILES = ['NATS_SEED_FILE', 'NATS_KEY_FILE'];

/**
 * A secret in a file that may be replaced at any time. A new content is in use within a second; until then reading costs nothing. Files
 * are limited to `UPSTREAM_SECRETS_DIR` (default `/run/secrets`), so that a catalog cannot read other files of the machine.
 */
export class SecretFile {
  /** Changes with every new content. */
  version = 0;
  /** Error code of the last failed read, such as `EACCES`; undefined for a readable or a missing file. `OWN`: a secret of Tollgate. */
  fault: string | undefined;
  private content: Buffer | undefined;
  private seen = '';
  private checkedAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly name: string,
    private readonly folder = process.env.UPSTREAM_SECRETS_DIR || DEFAULT_FOLDER,
  ) {}

  /** Undefined when the file is missing or unreadable. */
  read(): Buffer | undefined {
    const now = performance.now();
    if (now - this.checkedAt >= CHECK_INTERVAL_MS) {
      this.checkedAt = now;
      this.refresh();
    }
    return this.content;
  }

  private refresh(): void {
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
   * Identifies the content by inode, size and times; empty without a file. Follows links, because Kubernetes replaces files by them.
   * Throws for an unreadable path, such as the folder that Docker creates for a missing file, and for a secret of Tollgate itself.
   */
  private describe(): string {
    if (!NAME.test(this.name)) return '';
    const stat = statSync(this.path, { throwIfNoEntry: false });
    if (stat === undefined) return '';
    if (!stat.isFile()) throw Object.assign(new Error('not a file'), { code: stat.isDirectory() ? 'EISDIR' : 'EINVAL' });
    if (stat.size > BYTES_MAX) throw Object.assign(new Error('too large for a secret'), { code: 'EFBIG' });
    if (isOwn(stat)) throw Object.assign(new Error('a secret of Tollgate'), { code: 'OWN' });
    return `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
  }

  private get path(): string {
    return join(this.folder, this.name);
  }
}

/** Compares the files themselves: a name may be a link. */
function isOwn({ dev, ino }: Stats): boolean {
  return OWN_FILES.some((setting) => {
    const path = process.env[setting];
    const own = path ? statSync(path, { throwIfNoEntry: false }) : undefined;
    return own !== undefined && own.dev === dev && own.ino === ino;
  });
}

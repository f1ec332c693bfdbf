import { randomUUID } from 'node:crypto';
import type { Actor } from '#contracts/audit.js';
import { type CreatedKey, keyCreate, keyRevoke } from '#contracts/billing/keys.js';
import { NAME_LENGTH_MAX } from '#contracts/rules/bounds.js';
import { PLAYGROUND_KEY_MS, PLAYGROUND_KEY_NAME } from '#contracts/rules/playground-keys.js';
import type { Logger } from '#observability/logger.js';
import { PanelError } from '../errors/panel-error.js';
import type { Sessions } from '../identity/sessions.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import type { Services } from '../services/services.js';

/** Milliseconds that a request of the playground may take. */
export const RUN_MS_MAX = 600_000;
/** Milliseconds between two looks at the sessions of the keys. */
const SWEEP_MS = 5_000;
/** Keys that a replica holds, and those of one person among them: a key for each session and project. */
export const KEYS_MAX = 1_000;
export const PERSON_KEYS_MAX = 8;

/** Author of what the panel does by itself. */
const PANEL: Actor = { actor: 'service/panel' };

const NOT_NEEDED = new PanelError('unavailable', 'The key of the playground was replaced. Try again.');

/** A key of one caller in one project. Its secret is in this object alone. */
export interface PlaygroundKey {
  readonly keyId: string;
  readonly projectId: string;
  /** The session, or for a program its token. */
  readonly holder: string;
  /** The person, also the one who made the token. */
  readonly userId: string;
  /** Undefined for a token, whose keys live until their end. */
  readonly sessionId: string | undefined;
  readonly expiresAt: number;
  readonly created: Promise<CreatedKey>;
  /** Aborts with a `PanelError` when the session is over, or the key is no longer needed. It is then about to be revoked. */
  readonly over: AbortController;
  /** Requests that use it now. */
  running: number;
}

/** Keys with which the panel calls the gateway for people. Each replica makes its own. */
export class PlaygroundKeys {
  /** Longest unused first. */
  private readonly held = new Set<PlaygroundKey>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly services: Pick<Services, 'change' | 'changeAs'>,
    private readonly sessions: Pick<Sessions, 'alive'>,
    private readonly logger: Logger,
  ) {}

  /** Nest lifecycle hook. */
  onModuleInit(): void {
    this.timer = setInterval(() => void this.sweep(), SWEEP_MS);
  }

  /** Nest lifecycle hook: the secrets are lost with the process. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    const stopped = new PanelError('unavailable', 'The panel stops. Try again in a moment.');
    await Promise.all([...this.held].map((key) => this.revoke(key, stopped)));
  }

  /**
   * Returns the caller's key for a project, made now if there is none that outlives a request. Call `giveBack` when the request has ended.
   * @throws {PanelError} `rate_limit_exceeded` or `unavailable` when every key that could be replaced is in use
   */
  take(request: PanelRequest, projectId: string): PlaygroundKey {
    const { actor, session, userId } = requireCaller(request);
    const holder = session?.id ?? actor;
    const now = Date.now();
    const key =
      this.usable().find((one) => one.holder === holder && one.projectId === projectId && one.expiresAt - now > RUN_MS_MAX) ??
      this.make(request, { keyId: randomUUID(), projectId, holder, userId, sessionId: session?.id, expiresAt: now + PLAYGROUND_KEY_MS });
    key.running += 1;
    this.held.delete(key);
    this.held.add(key);
    return key;
  }

  /** Ends a request. The key stays for the next one: each new key is a row for ever. */
  giveBack(key: PlaygroundKey): void {
    key.running -= 1;
  }

  /** Drops a key that the gateway refuses, so that `take` makes another. */
  drop(key: PlaygroundKey): void {
    this.held.delete(key);
  }

  /**
   * Revokes the keys of sessions that are over, also those that another replica ended, and keys whose revocation failed before. Forgets
   * keys that have ended.
   */
  async sweep(): Promise<void> {
    const now = Date.now();
    for (const key of this.held) if (key.expiresAt <= now) this.drop(key);
    // Keys that are made while the database answers are not asked for.
    const keys = this.usable().filter(belongsToSession);
    const failed = [...this.held].filter(({ over }) => over.signal.aborted);
    try {
      await Promise.all(failed.map((key) => this.revoke(key, NOT_NEEDED)));
      if (keys.length === 0) return;
      const alive = await this.sessions.alive(keys.map(({ sessionId }) => sessionId));
      const ended = new PanelError('authentication_required', 'The session has ended.');
      await Promise.all(keys.filter(({ sessionId }) => !alive.has(sessionId)).map((key) => this.revoke(key, ended)));
    } catch (err) {
      this.logger.warn({ err }, 'sessions of the playground not read: trying again');
    }
  }

  private make(
    request: PanelRequest,
    made: Pick<PlaygroundKey, 'keyId' | 'projectId' | 'holder' | 'userId' | 'sessionId' | 'expiresAt'>,
  ): PlaygroundKey {
    const { keyId, projectId, userId } = made;
    this.makeRoom(userId);
    const name = `${PLAYGROUND_KEY_NAME}${requireCaller(request).actorName}`.slice(0, NAME_LENGTH_MAX);
    const expiresAt = new Date(made.expiresAt).toISOString();
    const created = this.services.change(request, keyCreate, { keyId, projectId, name, expiresAt });
    const key = { ...made, created, over: new AbortController(), running: 0 };
    this.held.add(key);
    created.catch(() => this.drop(key));
    return key;
  }

  /** Revokes the longest unused key of the person who has their share, or of anyone when all places are taken. */
  private makeRoom(userId: string): void {
    const keys = this.usable();
    const own = keys.filter((key) => key.userId === userId);
    const isOwnFull = own.length >= PERSON_KEYS_MAX;
    if (!isOwnFull && keys.length < KEYS_MAX) return;
    const unused = (isOwnFull ? own : keys).find(({ running }) => running === 0);
    if (unused) void this.revoke(unused, NOT_NEEDED);
    else if (isOwnFull)
      throw new PanelError('rate_limit_exceeded', 'All your keys of the playground are in use. Wait for the end of a request.');
    else throw new PanelError('unavailable', 'The playground is busy. Try again later.');
  }

  private usable(): PlaygroundKey[] {
    return [...this.held].filter(({ over }) => !over.signal.aborted);
  }

  /** Stops the requests of a key and revokes it. After a failure the next sweep tries again. */
  private async revoke(key: PlaygroundKey, reason: PanelError): Promise<void> {
    key.over.abort(reason);
    const { keyId } = key;
    try {
      await this.services.changeAs(PANEL, keyRevoke, { keyId });
      this.drop(key);
    } catch (err) {
      this.logger.warn({ err, keyId }, 'key of the playground not revoked: it ends by itself');
    }
  }
}

function belongsToSession(key: PlaygroundKey): key is PlaygroundKey & { sessionId: string } {
  return key.sessionId !== undefined;
}

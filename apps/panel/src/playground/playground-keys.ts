import { randomUUID } from 'node:crypto';
import type { Actor } from '#contracts/audit.js';
import { type CreatedKey, keyCreate, keyRevoke } from '#contracts/billing/keys.js';
import type { Logger } from '#observability/logger.js';
import { PanelError } from '../http/panel-error.js';
import { callerOf, type PanelRequest } from '../http/panel-request.js';
import type { Sessions } from '../identity/sessions.js';
import type { Services } from '../services/services.js';

/** Milliseconds that a request of the playground may take. */
export const RUN_MS_MAX = 600_000;
/** Milliseconds from the making of a key to its end. */
const KEY_MS = 3_600_000;
/** Milliseconds between two looks at the sessions of the keys. */
const SWEEP_MS = 5_000;
/** Keys that a replica holds. */
const KEYS_MAX = 1_000;
const NAME_LENGTH_MAX = 200;

/** Author of what the panel does by itself. */
const PANEL: Actor = { actor: 'service/panel' };

/** A key of one caller in one project. Its secret is in this object alone. */
export interface PlaygroundKey {
  readonly keyId: string;
  readonly projectId: string;
  /** The session, or for a program its token. */
  readonly holder: string;
  /** Undefined for a token, whose keys live until their end. */
  readonly sessionId: string | undefined;
  readonly expiresAt: number;
  readonly created: Promise<CreatedKey>;
  /** Aborts with a `PanelError` when the session is over. */
  readonly over: AbortController;
}

/** Keys with which the panel calls the gateway for people. Each replica makes its own. */
export class PlaygroundKeys {
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

  /** Returns the caller's key for a project, made now if there is none that outlives a request. */
  take(request: PanelRequest, projectId: string): PlaygroundKey {
    const { actor, session } = callerOf(request);
    const holder = session?.id ?? actor;
    const now = Date.now();
    for (const key of this.held) {
      if (key.holder === holder && key.projectId === projectId && key.expiresAt - now > RUN_MS_MAX) return key;
    }
    return this.make(request, { keyId: randomUUID(), projectId, holder, sessionId: session?.id, expiresAt: now + KEY_MS });
  }

  /** Drops a key that the gateway refuses, so that `take` makes another. */
  drop(key: PlaygroundKey): void {
    this.held.delete(key);
  }

  /** Revokes the keys of sessions that are over, also those that another replica ended. Forgets keys that have ended. */
  async sweep(): Promise<void> {
    const now = Date.now();
    for (const key of this.held) if (key.expiresAt <= now) this.drop(key);
    const keys = [...this.held].filter(isOfSession);
    if (keys.length === 0) return;
    try {
      const alive = await this.sessions.alive(keys.map(({ sessionId }) => sessionId));
      const ended = new PanelError('authentication_required', 'The session has ended.');
      await Promise.all(keys.filter(({ sessionId }) => !alive.has(sessionId)).map((key) => this.revoke(key, ended)));
    } catch (err) {
      this.logger.warn({ err }, 'sessions of the playground not read: trying again');
    }
  }

  private make(
    request: PanelRequest,
    made: Pick<PlaygroundKey, 'keyId' | 'projectId' | 'holder' | 'sessionId' | 'expiresAt'>,
  ): PlaygroundKey {
    if (this.held.size >= KEYS_MAX) throw new PanelError('unavailable', 'The playground is busy. Try again later.');
    const { keyId, projectId } = made;
    const name = `Playground of ${callerOf(request).actorName}`.slice(0, NAME_LENGTH_MAX);
    const expiresAt = new Date(made.expiresAt).toISOString();
    const created = this.services.change(request, keyCreate, { keyId, projectId, name, expiresAt });
    const key = { ...made, created, over: new AbortController() };
    this.held.add(key);
    created.catch(() => this.drop(key));
    return key;
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

function isOfSession(key: PlaygroundKey): key is PlaygroundKey & { sessionId: string } {
  return key.sessionId !== undefined;
}

// Bounds of fields that messages, the command line and forms of the pages share. Imports nothing: browsers load it.

/** Characters of a display name, and of the id of an operation on money. */
export const NAME_LENGTH_MAX = 200;
export const NOTE_LENGTH_MAX = 1_000;
export const REASON_LENGTH_MAX = 500;
/** Characters of a password of the panel. */
export const PASSWORD_LENGTH_MIN = 12;
export const PASSWORD_LENGTH_MAX = 256;

export const REQUESTS_PER_MINUTE_MAX = 1_000_000;
export const CONCURRENCY_MAX = 100_000;
/** Most patterns of a key or a project: each that a request matches is counted for it. */
export const MODEL_LIMITS_MAX = 16;
/** Largest `integer` of Postgres. */
export const TOKENS_MAX = 2 ** 31 - 1;
/** Longest vector of a model for embeddings. */
export const EMBEDDING_DIMENSIONS_MAX = 16_384;
/** Most projects and active keys that an account may be allowed. */
export const PROJECTS_MAX = 100_000;
export const ACTIVE_KEYS_MAX = 1_000_000;

/** Last day of a month that every month has. */
export const MONTH_START_MAX = 28;
/** Last day on which a period may begin. */
export const START_DAYS = { day: 1, week: 7, month: MONTH_START_MAX, total: 1 } as const;
/** Tags of one request. */
export const TAGS_MAX = 16;
/** Letters and digits first, so that a name is never empty, a sign or an option of a command. */
export const TAG_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Name of a policy, and the last token of the subject on which it is asked. */
export const POLICY_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** Milliseconds that a request may wait for its policy. */
export const POLICY_DEADLINE_MS_MAX = 5_000;
/** Milliseconds that it waits where none are set. */
export const POLICY_DEADLINE_MS_DEFAULT = 500;
/** A request whose policy fails runs as it is, or is refused. */
export const POLICY_FAIL_MODES = ['open', 'closed'] as const;

/** Characters of a text that names are searched for. */
export const SEARCH_LENGTH_MAX = 128;

/** Name of an internal service: a token of a NATS subject. */
export const SERVICE_NAME = /^[a-z][a-z0-9-]{0,31}$/;
/** Names of users of NATS that no internal service may have, and the token of the services' inboxes. */
export const OWN_USERS: readonly string[] = [
  'gateway',
  'billing',
  'catalog',
  'inference-proxy',
  'panel',
  'payments',
  'cli',
  'internal',
  'policy',
  'service',
];

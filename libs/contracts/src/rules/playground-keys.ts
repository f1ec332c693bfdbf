// Names of the keys with which the panel calls the gateway for people. Imports nothing: browsers load it.

/** Start of the name; the person follows. */
export const PLAYGROUND_KEY_NAME = 'Playground of ';
/** Milliseconds from the making of a key to its end. */
export const PLAYGROUND_KEY_MS = 3_600_000;
/** Room for the clocks of two machines. */
const CLOCKS_MS = 60_000;

interface KeyFacts {
  name: string | null;
  createdAt: string;
  expiresAt: string | null;
}

/** True for a key of the playground. A key that lives longer is none, whatever its name: lists leave those of the playground out. */
export function isPlaygroundKey({ name, createdAt, expiresAt }: KeyFacts): boolean {
  if (!name?.startsWith(PLAYGROUND_KEY_NAME) || expiresAt === null) return false;
  return Date.parse(expiresAt) - Date.parse(createdAt) <= PLAYGROUND_KEY_MS + CLOCKS_MS;
}

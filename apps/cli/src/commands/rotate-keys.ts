import { type KeyRow, keyList, keyRotate } from '#contracts/billing/keys.js';
import { isPlaygroundKey } from '#contracts/rules/playground-keys.js';
import type { Messaging } from '#messaging/messaging.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { completeIds } from '../complete-ids.js';
import { accountId, duration, optional, projectId, required } from '../parameters.js';

/** Programs have a day to take their new key. */
const GRACE_DEFAULT_SECONDS = 86_400;

const PARAMETERS = {
  project: required(projectId, 'name or id of the project'),
  grace: optional(duration('30d'), 'how long the old keys work on, such as 90s, 30m, 24h or 7d; default: 24h'),
  account: optional(accountId, 'name or id of the account, where several have one of this name'),
} satisfies Parameters;

/** A key and the one that replaced it, as `--json` prints it. */
interface Rotated {
  name: string | null;
  replaced: string;
  keyId: string;
  key: string;
}

export const rotateKeysCommands: readonly CliCommand[] = [
  {
    name: 'key rotate-all',
    summary: 'Replace all active keys of a project, and show the new ones once, a line each: name, a comma, key',
    parameters: PARAMETERS,
    examples: ['key rotate-all --project web', 'key rotate-all --project web --grace 7d --json > keys.json'],
    async run(values, json, connect, write) {
      const messaging = await connect();
      const { project, grace = GRACE_DEFAULT_SECONDS } = (await completeIds(PARAMETERS, values, messaging)) as Values<typeof PARAMETERS>;
      const keys: Rotated[] = [];
      // A key that is not shown is lost: those before one that fails are shown too.
      let error: string | undefined;
      for (const { keyId, name } of await listKeys(messaging, project)) {
        try {
          const { replaced, ...made } = await messaging.request(keyRotate, { keyId, graceSeconds: grace });
          keys.push({ name, replaced: replaced.keyId, keyId: made.keyId, key: made.key });
          if (!json) write(`${quote(name ?? keyId)},${made.key}\n`);
        } catch (failure) {
          error = `${name ?? keyId} and those after it were not rotated: ${(failure as Error).message}`;
          break;
        }
      }
      return { text: json ? JSON.stringify({ keys, error }, null, 2) : renderEnd(keys.length, grace, error), failed: error !== undefined };
    },
  },
];

/** The keys that work and have no successor. Those of the playground end by themselves. */
async function listKeys(messaging: Messaging, projectId: string): Promise<KeyRow[]> {
  const keys: KeyRow[] = [];
  let cursor: string | undefined;
  do {
    const reply = await messaging.request(keyList, { projectId, cursor });
    keys.push(...reply.keys.filter((key) => key.status === 'active' && key.replacedBy === null && !isPlaygroundKey(key)));
    cursor = reply.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return keys;
}

function renderEnd(count: number, graceSeconds: number, error: string | undefined): string {
  const saved = count === 0 ? [] : [`Save the keys now: they are not shown again. The old ones end in ${renderGrace(graceSeconds)}.`];
  const rest = error ?? (count === 0 ? 'no active keys' : undefined);
  return [...saved, ...(rest === undefined ? [] : [rest])].join('\n');
}

function renderGrace(seconds: number): string {
  return seconds % 3_600 === 0 ? `${seconds / 3_600} hours` : `${seconds} seconds`;
}

/** A field of CSV. */
function quote(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

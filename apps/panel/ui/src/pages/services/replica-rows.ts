import type { ReplicaStatus } from '../../../../src/shapes/catalog.js';

/** A replica as the page shows it. */
export interface ReplicaRow extends ReplicaStatus {
  /** Milliseconds since 1970 at which it was missed. Null: it answers. */
  goneAt: number | null;
  /** Other services of its process. */
  sharedWith: string[];
  /** True when its build is not that of the process that started last. */
  isOtherBuild: boolean;
}

/** Milliseconds for which a replica that no longer answers stays on the page. */
export const GONE_MS = 10 * 60_000;

/** Services of every system. Payments by card are optional. */
const EXPECTED = ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'];

/** Returns the replicas to remember: those that answer now, and those before that were there in the last `GONE_MS`. */
export function rememberReplicas(before: readonly ReplicaRow[], replicas: readonly ReplicaStatus[], now: number): ReplicaRow[] {
  const gone = before
    .filter((one) => !replicas.some((replica) => isSamePlace(replica, one)))
    .map((one) => ({ ...one, goneAt: one.goneAt ?? now }))
    .filter(({ goneAt }) => now - goneAt < GONE_MS);
  const newest = replicas.toSorted((one, other) => one.startedAt.localeCompare(other.startedAt)).at(-1);
  const answering = replicas.map((replica) => ({
    ...replica,
    goneAt: null,
    sharedWith: replicas.filter((one) => one.process === replica.process && one !== replica).map(({ service }) => service),
    isOtherBuild: nameBuild(replica) !== nameBuild(newest ?? replica),
  }));
  return [...answering, ...gone].sort(inOrder);
}

/** A replica that started again in its place is the same one. */
function isSamePlace(one: ReplicaStatus, other: ReplicaStatus): boolean {
  return one.service === other.service && one.process === other.process;
}

function inOrder(one: ReplicaRow, other: ReplicaRow): number {
  return one.service.localeCompare(other.service) || one.startedAt.localeCompare(other.startedAt);
}

/** Returns services of which no replica answers. */
export function missingServices(rows: readonly ReplicaRow[]): string[] {
  const answering = new Set(rows.filter(({ goneAt }) => goneAt === null).map(({ service }) => service));
  return [...new Set([...EXPECTED, ...rows.map(({ service }) => service)])].filter((service) => !answering.has(service));
}

/** The version, and the start of the commit. */
export function nameBuild({ version, commit }: Pick<ReplicaStatus, 'version' | 'commit'>): string {
  const [hash = '', ...marks] = commit.split('-');
  return [version, [hash.slice(0, 8), ...marks].join('-')].filter(Boolean).join(' ');
}

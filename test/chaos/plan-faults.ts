import type { Cut } from '#testing/tcp-link.js';
import type { Random } from '../simulation/random.js';
import type { ChaosSystem } from './chaos-system.js';

/** A fault, `atMs` after the start of a round. */
export type InjectedFault = { atMs: number; target: string } & (
  | { kind: 'kill' }
  /** SIGSTOP, then SIGCONT. */
  | { kind: 'freeze'; forMs: number }
  | { kind: 'cut'; how: Cut; forMs: number }
  | { kind: 'reset' }
);

export interface Campaign {
  seed: number;
  /** Number of kills that end the campaign. */
  kills: number;
  clients: number;
  /** Kills in each round. */
  killsAtOnce: readonly [least: number, most: number];
  /** Freezes and cuts in each round. */
  othersAtOnce: readonly [least: number, most: number];
  /** Time in which clients start requests in each round; faults happen in its middle third. */
  trafficMs: number;
  /** Duration of freezes and cuts: longer than a lease, sometimes longer than two. */
  outageMs: readonly [least: number, most: number];
}

/** Plans the faults of one round. A killed process may be killed again while it starts. */
export function planFaults(random: Random, campaign: Campaign, { processes, links }: ChaosSystem, killsLeft: number): InjectedFault[] {
  const whole = ([least, most]: readonly [number, number]): number => Math.floor(random.between(least, most + 1));
  const atMs = (): number => Math.floor(random.between(campaign.trafficMs / 3, (campaign.trafficMs * 2) / 3));
  const kills = Math.min(killsLeft, whole(campaign.killsAtOnce));
  const injected: InjectedFault[] = Array.from({ length: kills }, () => ({ atMs: atMs(), target: one(random, processes), kind: 'kill' }));
  const spared = new Set<string>();
  for (let count = whole(campaign.othersAtOnce); count > 0; count--) {
    const forMs = whole(campaign.outageMs);
    const kind = random.pick(['freeze', 'freeze', 'cut', 'cut', 'reset'] as const) ?? 'reset';
    const target = one(random, kind === 'freeze' ? processes : links);
    if (spared.has(target)) continue; // one outage of a target at a time: the first to end would end both
    spared.add(target);
    if (kind === 'freeze') injected.push({ atMs: atMs(), target, kind, forMs });
    else if (kind === 'cut') injected.push({ atMs: atMs(), target, kind, forMs, how: random.chance(0.6) ? 'silence' : 'refusal' });
    else injected.push({ atMs: atMs(), target, kind });
  }
  return injected.sort((a, b) => a.atMs - b.atMs);
}

/** Name for counting, such as `postgres: kill` or `billing-1 to nats: silence`. */
export function describeFault(fault: InjectedFault): string {
  return `${fault.target.replaceAll(/-\d/g, '')}: ${fault.kind === 'cut' ? fault.how : fault.kind}`;
}

function one(random: Random, targets: readonly string[]): string {
  const target = random.pick(targets);
  if (target === undefined) throw new RangeError('no target for a fault');
  return target;
}

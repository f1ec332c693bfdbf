import { readFileSync, statSync } from 'node:fs';

/** Calls in the long files: of suites that kill or attack for a minute, and of those that start programs of their own. */
const LONGEST = [
  /\b(Nemesis|AbuseStack)\.start\(/,
  /\b(start\w*Stack|\w+Stack\.start|startFlood|ManyReplicas\.start|launch|spawn|describeWithBrowser)\(/,
];

interface TestFile {
  path: string;
}
/** Order of end-to-end files: the long ones first, so that none runs alone at the end, then by size. A fresh clone has no measured times. */
export default class LongestFirst {
  sort(tests: TestFile[]): TestFile[] {
    const ranked = tests.map((test) => ({ test, rank: rankTest(readFileSync(test.path, 'utf8')), bytes: statSync(test.path).size }));
    return ranked.sort((a, b) => a.rank - b.rank || b.bytes - a.bytes).map(({ test }) => test);
  }

  /** Deals the files out, so that each shard gets as many long ones. */
  shard(tests: TestFile[], { shardIndex, shardCount }: { shardIndex: number; shardCount: number }): TestFile[] {
    return this.sort(tests).filter((_, at) => at % shardCount === shardIndex - 1);
  }

  cacheResults(): void {}
}

function rankTest(text: string): number {
  const rank = LONGEST.findIndex((pattern) => pattern.test(text));
  return rank === -1 ? LONGEST.length : rank;
}

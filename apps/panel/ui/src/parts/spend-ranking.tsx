import type { UsageRow } from '../../../src/shapes/billing.js';
import type { Group } from '../data/filters.js';
import { readGroupId } from '../data/usage-rows.js';
import { plural } from '../format/numbers.js';
import { Ranking } from './chart/ranking.js';
import { Money } from './money.js';

/** Rows that a ranking shows. */
export const SPENDERS_MAX = 6;

interface SpendRankingProps {
  /** The most expensive first. Undefined while loading. */
  rows: readonly UsageRow[] | undefined;
  group: Group;
  formatName: (id: string) => string;
  empty?: string;
  /** Undefined: the group has no page. */
  linkTo: (id: string) => string | undefined;
}

/** The largest spenders of a group, each with a link. */
export function SpendRanking({ rows, group, formatName, linkTo, empty = 'No requests in this time.' }: SpendRankingProps) {
  const shown = rows?.slice(0, SPENDERS_MAX);
  return (
    <Ranking
      empty={empty}
      rows={shown?.map((row) => {
        const id = readGroupId(row, group);
        const href = linkTo(id);
        return {
          id,
          name: formatName(id),
          value: BigInt(row.costPicoUsd),
          text: <Money pico={row.costPicoUsd} plain />,
          more: plural(row.requests, 'request'),
          ...(href && { href }),
        };
      })}
    />
  );
}

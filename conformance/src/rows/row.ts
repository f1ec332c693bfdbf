import type { Ability } from '../adapters/adapter.ts';
import type { Bench, Money } from '../bench.ts';
import type { FormatName } from '../formats/format.ts';
import type { Model } from '../models.ts';

export type Group =
  | 'overspend'
  | 'disconnects'
  | 'cuts'
  | 'usage'
  | 'repeats'
  | 'kills'
  | 'prices'
  | 'retries'
  | 'refusals'
  | 'tools'
  | 'reasoning'
  | 'finish'
  | 'errors'
  | 'oddities';

/** One row of the table. */
export interface Row {
  /** Unique and stable: `group/name`. */
  id: string;
  group: Group;
  title: string;
  needs: readonly Ability[];
  /** The pair that it asks for. A product that does not speak both does not offer the row. */
  pair?: { client: FormatName; model: Model };
  /** Needs the product for itself. */
  isExclusive?: boolean;
  /** Belongs to `--quick`. */
  isQuick?: boolean;
  run(bench: Bench, random: Random): Promise<Outcome>;
}

/** A number from 0 up to and without `below`, from the seed and the id of the row. */
export type Random = (below: number) => number;

export interface Outcome {
  money?: Money | undefined;
  /** Sentences that say what is wrong. The row fails if there is one, and if dollars are off or left on hold. */
  faults: string[];
  /** Figures for the reader. */
  note?: string;
}

import { RANGES, type RangeName } from '../data/filters.js';
import { useFilters } from '../data/use-filters.js';
import { Segments } from './segments.js';

/** The time that a page shows. A start and an end of a chart's bar are none of its choices. */
export function RangePicker({ fallback, names = Object.keys(RANGES) as RangeName[] }: { fallback: RangeName; names?: RangeName[] }) {
  const { filters, hrefWith } = useFilters();
  const value = filters.from ? '' : (filters.range ?? fallback);
  return (
    <Segments
      label="Time"
      options={names.map((name) => ({ value: name, label: RANGES[name] }))}
      value={value}
      linkTo={(name) => hrefWith({ range: name as RangeName })}
    />
  );
}

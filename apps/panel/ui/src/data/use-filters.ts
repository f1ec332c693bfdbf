import { useEffect, useMemo, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { changeFilters, type Filters, type RangeName, readFilters, resolveSpan, writeFilters } from './filters.js';

/** The filters of the address; `change` writes it, and `hrefWith` is the address of another choice. */
export function useFilters() {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const filters = useMemo(() => readFilters(search), [search]);
  const hrefWith = (change: Partial<Filters>) => path + writeFilters(changeFilters(filters, change));
  return { filters, hrefWith, change: (change: Partial<Filters>) => navigate(hrefWith(change), { replace: true }) };
}

/** The time that the filters choose, which moves on each minute. */
export function useSpan(filters: Filters, fallback: RangeName) {
  const now = useNow(60_000);
  return useMemo(() => resolveSpan(filters, now, fallback), [filters, now, fallback]);
}

/** The time, at each `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

import type { ReactNode } from 'react';
import type { Filters } from '../data/filters.js';
import { useSession } from '../data/session.js';
import { REASONS, reasonName } from '../data/settle-reasons.js';
import { useFilters } from '../data/use-filters.js';
import { useNames } from '../data/use-names.js';
import { Button } from './button.js';
import { CompactSelect } from './field.js';
import styles from './filter-bar.module.css';
import { utcHour, utcShortDay } from './time.js';

/** The filters that Usage and Requests share. Models and upstreams come from links; a chosen one is shown to be taken away. */
export function FilterBar({ children }: { children?: ReactNode }) {
  const { account } = useSession();
  const { filters, change } = useFilters();
  const { projects, keys } = useNames();
  const projectKeys = keys?.filter(({ projectId }) => !filters.project || projectId === filters.project);
  return (
    <search className={styles.bar}>
      {children}
      {filters.from && (
        <Chosen onRemove={() => change({ from: undefined, to: undefined })}>
          {`${utcShortDay(filters.from)}, ${utcHour(filters.from)}${filters.to ? ` – ${endText(filters)}` : ''} UTC`}
        </Chosen>
      )}
      {account !== 'all' && (
        <>
          <CompactSelect
            label="Project"
            value={filters.project ?? ''}
            onChange={(event) => change({ project: event.target.value, key: undefined })}
          >
            <option value="">All projects</option>
            {projects?.map(({ projectId, name }) => (
              <option key={projectId} value={projectId}>
                {name}
              </option>
            ))}
          </CompactSelect>
          <CompactSelect label="Key" value={filters.key ?? ''} onChange={(event) => change({ key: event.target.value })}>
            <option value="">All keys</option>
            {projectKeys?.map(({ keyId, name, lastFour }) => (
              <option key={keyId} value={keyId}>
                {name ?? `…${lastFour}`}
              </option>
            ))}
          </CompactSelect>
        </>
      )}
      <CompactSelect label="Ending" value={filters.ending ?? ''} onChange={(event) => change({ ending: event.target.value })}>
        <option value="">All endings</option>
        {Object.keys(REASONS).map((reason) => (
          <option key={reason} value={reason}>
            {reasonName(reason)}
          </option>
        ))}
      </CompactSelect>
      {(['model', 'upstream'] as const).map(
        (name) =>
          filters[name] && (
            <Chosen key={name} onRemove={() => change({ [name]: undefined })}>
              {filters[name]}
            </Chosen>
          ),
      )}
    </search>
  );
}

/** A filter that is set, with the button that removes it. */
export function Chosen({ children, onRemove }: { children: string; onRemove: () => void }) {
  return (
    <Button className={styles.chosen} icon="close" onClick={onRemove} aria-label={`Remove the filter ${children}`}>
      {children}
    </Button>
  );
}

/** The end of a range: the time alone within a day. */
function endText({ from = '', to = '' }: Filters): string {
  return utcShortDay(from) === utcShortDay(to) ? utcHour(to) : `${utcShortDay(to)}, ${utcHour(to)}`;
}

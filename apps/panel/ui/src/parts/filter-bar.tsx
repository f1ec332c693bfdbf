import type { ReactNode } from 'react';
import type { Project } from '../../../src/shapes/billing.js';
import { type Filters, RANGES, type RangeName, useFilters } from '../data/filters.js';
import { reasonName } from '../data/outcomes.js';
import { listProjects, useNames, useSession } from '../data/session.js';
import { Button } from './button.js';
import { CompactSelect } from './field.js';
import styles from './filter-bar.module.css';
import { Segments } from './segments.js';
import { utcHour, utcShortDay } from './time.js';

interface FilterBarProps {
  children?: ReactNode;
  /** Endings to choose from. */
  endings: readonly string[];
  /** Further filters, after the others. */
  more?: ReactNode;
  /** Filters that come from links: a chosen one is shown to be taken away. */
  linked?: readonly ('model' | 'upstream')[];
}

/** The filters that Usage and Requests share. */
export function FilterBar({ children, endings, more, linked = ['model', 'upstream'] }: FilterBarProps) {
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
          <ProjectFilter projects={projects} value={filters.project} onChoose={(project) => change({ project, key: undefined })} />
          <CompactSelect
            label="Key"
            all="All keys"
            options={projectKeys?.map(({ keyId, name, lastFour }) => [keyId, name ?? `…${lastFour}`]) ?? []}
            value={filters.key ?? ''}
            onChoose={(key) => change({ key })}
          />
        </>
      )}
      <CompactSelect
        label="Ending"
        all="All endings"
        options={endings.map((reason) => [reason, reasonName(reason)])}
        value={filters.ending ?? ''}
        onChoose={(ending) => change({ ending })}
      />
      {more}
      {linked.map(
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

interface ProjectFilterProps {
  /** Undefined while they load. */
  projects: readonly Project[] | undefined;
  value: string | undefined;
  onChoose: (projectId: string) => void;
}

/** The choice of a project, or of all. */
export function ProjectFilter({ projects = [], value = '', onChoose }: ProjectFilterProps) {
  return <CompactSelect label="Project" all="All projects" options={listProjects(projects)} value={value} onChoose={onChoose} />;
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

import { type FormEvent, type ReactNode, useState } from 'react';
import type { Project } from '../../../src/shapes/billing.js';
import { type Filters, RANGES, type RangeName, readOwnRange, resolveSpan, toTimeInput, useFilters } from '../data/filters.js';
import { reasonName } from '../data/outcomes.js';
import { listProjects, useNames, useSession } from '../data/session.js';
import { Button } from './button.js';
import { Dialog, DialogActions } from './dialog.js';
import { CompactSelect, TextField } from './field.js';
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
  const { account, project: ofPage } = useSession();
  const { filters, change } = useFilters();
  const { projects, keys } = useNames();
  const projectKeys = keys?.filter(({ projectId }) => !filters.project || projectId === filters.project);
  return (
    <search className={styles.bar}>
      {children}
      {account !== 'all' && (
        <>
          {!ofPage && (
            <ProjectFilter projects={projects} value={filters.project} onChoose={(project) => change({ project, key: undefined })} />
          )}
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

/** `23 Nov, 13:00 – 15:00 UTC`, with the time alone as the end within a day. */
function describeRange({ from = '', to = '' }: Filters): string {
  const day = utcShortDay(from) === utcShortDay(to || from) ? '' : `${utcShortDay(to)}, `;
  return `${utcShortDay(from)}, ${utcHour(from)} – ${to ? day + utcHour(to) : 'now'} UTC`;
}

interface RangePickerProps {
  /** Range of an address without one. Absent: it shows any time. */
  fallback?: RangeName;
  names?: RangeName[];
  /** Longest range of a start and an end. */
  daysMax?: number;
}

/** The time that a page shows: one of the usual ranges, or a start and an end. */
export function RangePicker({ fallback, names = Object.keys(RANGES) as RangeName[], daysMax }: RangePickerProps) {
  const { filters, hrefWith } = useFilters();
  const [isChoosing, setChoosing] = useState(false);
  const value = filters.from ? '' : (filters.range ?? fallback ?? ANY);
  const ranges = names.map((name): { value: string; label: string } => ({ value: name, label: RANGES[name] }));
  return (
    <>
      <Segments
        label="Time"
        options={fallback ? ranges : [{ value: ANY, label: 'Any time' }, ...ranges]}
        value={value}
        linkTo={(name) => hrefWith({ range: name === ANY ? undefined : (name as RangeName), from: undefined, to: undefined })}
      />
      <Button className={filters.from && styles.active} onClick={() => setChoosing(true)}>
        {filters.from ? describeRange(filters) : 'From – to'}
      </Button>
      {isChoosing && <OwnRange fallback={fallback ?? '24h'} daysMax={daysMax} onClose={() => setChoosing(false)} />}
    </>
  );
}

const ANY = 'any';

/** Asks for a start and an end. */
function OwnRange({ fallback, daysMax, onClose }: { fallback: RangeName; daysMax: number | undefined; onClose: () => void }) {
  const { filters, change } = useFilters();
  const [shown] = useState(() => resolveSpan(filters, Date.now(), fallback));
  const [from, setFrom] = useState(toTimeInput(shown.from));
  const [to, setTo] = useState(filters.to ? toTimeInput(shown.to) : '');
  const [isSent, setSent] = useState(false);
  const read = readOwnRange(from, to, Date.now(), daysMax);
  const fault = isSent && 'fault' in read ? read : undefined;
  const send = (event: FormEvent) => {
    event.preventDefault();
    setSent(true);
    if ('fault' in read) return;
    change(read);
    onClose();
  };
  return (
    <Dialog title="From – to" onClose={onClose}>
      <form className={styles.form} onSubmit={send} noValidate>
        <TextField
          label="From, UTC"
          type="datetime-local"
          value={from}
          onText={setFrom}
          fault={fault?.field === 'from' ? fault.fault : null}
        />
        <TextField
          label="To, UTC"
          type="datetime-local"
          hint="Empty: now."
          value={to}
          onText={setTo}
          fault={fault?.field === 'to' ? fault.fault : null}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary">
            Show
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

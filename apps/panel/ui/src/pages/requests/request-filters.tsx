import { useState } from 'react';
import type { ModelListReply } from '../../../../src/shapes/catalog.js';
import { LISTED_ENDINGS } from '../../../../src/shapes/requests.js';
import { useApi } from '../../data/api.js';
import { type Filters, readSeconds, useFilters } from '../../data/filters.js';
import { GATEWAY_CODES } from '../../data/outcomes.js';
import { readUsd } from '../../format/numbers.js';
import { Button } from '../../parts/button.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { CompactSelect, TextField } from '../../parts/field.js';
import { Chosen, FilterBar, RangePicker } from '../../parts/filter-bar.js';
import { describeChosen } from './chosen-filters.js';
import { FindRequest } from './find-request.js';
import styles from './requests.module.css';
import { SavedViews } from './saved-views.js';

const STATUSES = [...new Set([200, ...Object.values(GATEWAY_CODES)])].sort((one, other) => one - other).map(String);

/** The filters of the list of requests. Those that are seldom needed are in a dialog; each that is set is shown, to be taken away. */
export function RequestFilters() {
  const { filters, change } = useFilters();
  const [asksMore, setAsksMore] = useState(false);
  const { data } = useApi<ModelListReply>('/models');
  const models = data?.models.map(({ id }) => id) ?? [];
  const { status, code, model } = filters;
  const codes = Object.entries(GATEWAY_CODES).filter(([, usual]) => !status || status === '200' || String(usual) === status);
  return (
    <FilterBar
      endings={LISTED_ENDINGS}
      linked={['upstream']}
      more={
        <>
          <CompactSelect
            label="Model"
            all="All models"
            options={withChosen(models, model)}
            value={model ?? ''}
            onChoose={(chosen) => change({ model: chosen })}
          />
          <CompactSelect
            label="Status"
            all="All statuses"
            options={withChosen(STATUSES, status)}
            value={status ?? ''}
            onChoose={(chosen) => change({ status: chosen, code: undefined })}
          />
          <CompactSelect
            label="Code"
            all="All codes"
            options={withChosen(
              codes.map(([name]) => name),
              code,
            )}
            value={code ?? ''}
            onChoose={(chosen) => change({ code: chosen })}
          />
          {describeChosen(filters).map(({ text, without }) => (
            <Chosen key={text} onRemove={() => change(without)}>
              {text}
            </Chosen>
          ))}
          <Button look="quiet" onClick={() => setAsksMore(true)}>
            More filters
          </Button>
          <SavedViews />
          <FindRequest />
          {asksMore && <MoreFilters onClose={() => setAsksMore(false)} />}
        </>
      }
    >
      <RangePicker fallback="24h" names={['1h', '24h', '7d', '30d']} />
    </FilterBar>
  );
}

/** The options of a choice, and what is chosen if it is none of them. */
function withChosen(options: readonly string[], chosen: string | undefined): [value: string, text: string][] {
  const all = chosen && !options.includes(chosen) ? [...options, chosen] : options;
  return all.map((option) => [option, option]);
}

const TEXTS = ['user', 'tag', 'costMin', 'costMax', 'tookMin', 'tookMax', 'from', 'to'] as const;
type Texts = Record<(typeof TEXTS)[number], string>;

function MoreFilters({ onClose }: { onClose: () => void }) {
  const { filters, change } = useFilters();
  const [texts, setTexts] = useState<Texts>(() => ({
    ...(Object.fromEntries(TEXTS.map((name) => [name, filters[name] ?? ''])) as Texts),
    from: toLocal(filters.from),
    to: toLocal(filters.to),
  }));
  const faults = findFaults(texts);
  const field = (name: keyof Texts, label: string, rest: { hint?: string; type?: string; inputMode?: 'decimal'; max?: string } = {}) => (
    <TextField
      {...rest}
      label={label}
      value={texts[name]}
      fault={faults[name] ?? null}
      autoComplete="off"
      onText={(text) => setTexts({ ...texts, [name]: text })}
    />
  );
  return (
    <Dialog title="More filters" onClose={onClose}>
      <form
        className={styles.more}
        onSubmit={(event) => {
          event.preventDefault();
          change(toFilters(texts));
          onClose();
        }}
      >
        {field('user', 'User', { hint: 'The end user that the request named.' })}
        {field('tag', 'Tag', { hint: 'team=search, or team for any value.' })}
        {field('costMin', 'Cost from, $', { inputMode: 'decimal' })}
        {field('costMax', 'Cost up to, $', { inputMode: 'decimal' })}
        {field('tookMin', 'Took from, seconds', { inputMode: 'decimal' })}
        {field('tookMax', 'Took up to, seconds', { inputMode: 'decimal' })}
        {field('from', 'Ended from', { type: 'datetime-local', hint: 'The time zone of this device.' })}
        {field('to', 'Ended before', { type: 'datetime-local', hint: 'Empty: until now.' })}
        <div className={styles.wide}>
          <p className={styles.note}>Refused requests have no cost and duration: with one of these the list has none of them.</p>
          <DialogActions>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" look="primary" disabled={Object.keys(faults).length > 0}>
              Apply
            </Button>
          </DialogActions>
        </div>
      </form>
    </Dialog>
  );
}

function findFaults({ tag, costMin, costMax, tookMin, tookMax, from, to }: Texts): Partial<Texts> {
  const faults = {
    tag:
      tag.trim() === '' || /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(=.{1,128})?$/.test(tag.trim())
        ? undefined
        : 'Write a tag such as team=search.',
    costMin: readUsd(costMin).fault,
    costMax: readUsd(costMax).fault,
    tookMin: readSeconds(tookMin).fault,
    tookMax: readSeconds(tookMax).fault,
    from: to && !from ? 'Give the start too.' : undefined,
    to: from && to && from >= to ? 'The end must be later than the start.' : undefined,
  };
  return Object.fromEntries(Object.entries(faults).filter(([, fault]) => fault !== undefined));
}

function toFilters({ from, to, ...others }: Texts): Partial<Filters> {
  const trimmed = Object.fromEntries(Object.entries(others).map(([name, text]) => [name, text.trim() || undefined]));
  return { ...trimmed, from: from ? new Date(from).toISOString() : undefined, to: from && to ? new Date(to).toISOString() : undefined };
}

/** A moment as a field of date and time has it, in the local zone. */
function toLocal(at: string | undefined): string {
  if (!at) return '';
  const moment = new Date(at);
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

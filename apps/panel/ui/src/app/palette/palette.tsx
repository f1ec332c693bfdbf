import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { REQUEST_ID_FORMS } from '#contracts/rules/request-id.js';
import { plural } from '../../format/numbers.js';
import { Dialog } from '../../parts/dialog.js';
import { Icon } from '../../parts/icon.js';
import { type Entry, findEntries } from './find-entries.js';
import styles from './palette.module.css';
import { useEntries } from './use-entries.js';

/**
 * Opens a page, project, key, account, model, member or request by its name or id: a combobox whose list is always open. The focus stays in
 * the field; arrow keys choose, Enter opens.
 */
export function Palette({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const listId = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const { entries, isComplete, more } = useEntries(text);
  const groups = useMemo(() => findEntries(text, entries), [text, entries]);
  const found = groups.flatMap((group) => group.entries);
  const chosen = found[Math.min(at, found.length - 1)];
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another choice or another list scrolls.
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen, groups]);
  const open = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    navigate(entry.href);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || found.length === 0) return;
    event.preventDefault();
    // Behind the last one comes the first.
    setAt((Math.min(at, found.length - 1) + step + found.length) % found.length);
  };
  const optionId = (entry: Entry) => `${listId}-${entry.kind}-${entry.id}`;
  return (
    <Dialog title="Search" onClose={onClose}>
      <form
        className={styles.palette}
        onSubmit={(event) => {
          event.preventDefault();
          open(chosen);
        }}
      >
        <input
          className={styles.input}
          role="combobox"
          aria-label="Search"
          aria-expanded="true"
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={chosen && optionId(chosen)}
          placeholder="Name, or id of a request"
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
        <div ref={list} id={listId} role="listbox" aria-label="Found" className={styles.list}>
          {groups.map(({ kind, entries: shown }) => (
            // biome-ignore lint/a11y/useSemanticElements: a listbox has groups, and no fieldset.
            <div key={kind} role="group" aria-label={kind}>
              <div className={styles.kind} aria-hidden="true">
                {kind}
              </div>
              {shown.map((entry) => (
                // biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useKeyWithClickEvents: the field has the focus and the keys.
                <div
                  key={entry.id}
                  id={optionId(entry)}
                  role="option"
                  aria-selected={entry === chosen}
                  className={styles.option}
                  onClick={() => open(entry)}
                  onPointerMove={() => setAt(found.indexOf(entry))}
                >
                  <Icon name={entry.icon} />
                  <span className={styles.name}>{entry.name}</span>
                  <span className={styles.hint}>{entry.hint}</span>
                </div>
              ))}
            </div>
          ))}
        </div>
        <div role="status" className={styles.status}>
          {describeResult(found.length, text, isComplete)}
          {more.length > 0 && text.trim() !== '' && <p>More {more.join(' and ')} have this text: type more of the name.</p>}
        </div>
      </form>
    </Dialog>
  );
}

function describeResult(results: number, text: string, isComplete: boolean) {
  if (!isComplete) return <p>Loading…</p>;
  if (text.trim() === '') return <p>Type to search, or paste a log line with the id of a request. Arrow keys choose, Enter opens.</p>;
  if (results > 0) return <p>{plural(results, 'result')}</p>;
  return <p>Nothing has this name. {REQUEST_ID_FORMS}</p>;
}

import { useEffect, useRef } from 'react';
import type { CatalogFault } from '../../../../src/shapes/catalog.js';
import styles from './yaml-editor.module.css';

interface YamlEditorProps {
  value: string;
  /** Absent: the text can only be read. */
  onChange?: (value: string) => void;
  /** Called for Ctrl or ⌘ with Enter. */
  onSubmit: () => void;
  faults: CatalogFault[];
  /** A line that is chosen when it changes. */
  line?: number | undefined;
}

/** The text with line numbers. Lines with a fault are marked; the list below leads to them. */
export function YamlEditor({ value, onChange, onSubmit, faults, line: shown }: YamlEditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLOListElement>(null);
  const lines = value.split('\n');
  const problems = Map.groupBy(faults, ({ line }) => line);
  const goTo = (line: number) => {
    const start = lines.slice(0, line - 1).reduce((length, text) => length + text.length + 1, 0);
    area.current?.focus({ preventScroll: true });
    area.current?.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    numbers.current?.children[line - 1]?.scrollIntoView({ block: 'center' });
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: a line is shown once, not again while its text is edited.
  useEffect(() => {
    if (shown) goTo(shown);
  }, [shown]);
  return (
    <>
      <div className={styles.frame}>
        <ol ref={numbers} className={styles.numbers} aria-hidden="true">
          {lines
            .map((_, at) => at + 1)
            .map((line) => (
              <li key={line} className={problems.has(line) ? styles.faulty : undefined} title={renderTitle(problems.get(line))}>
                {line}
              </li>
            ))}
        </ol>
        <textarea
          ref={area}
          className={styles.text}
          aria-label="Text of the catalog file"
          aria-invalid={faults.length > 0 || undefined}
          rows={lines.length}
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          readOnly={!onChange}
          value={value}
          onChange={(event) => onChange?.(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onSubmit();
          }}
        />
      </div>
      {faults.length > 0 && (
        <ul className={styles.faults} aria-label="Faults">
          {faults.map(({ line, field, problem }) => (
            <li key={`${line} ${field} ${problem}`}>
              <button type="button" className={styles.line} onClick={() => goTo(line)}>
                Line {line}
              </button>
              <span>
                {field && <code>{field}</code>} {problem}
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function renderTitle(faults: CatalogFault[] | undefined): string | undefined {
  return faults?.map(({ field, problem }) => `${field} ${problem}`.trim()).join('\n');
}

import { type FormEvent, useId, useState } from 'react';
import { TAG_NAME } from '#contracts/rules/bounds.js';
import { Button } from '../../parts/button.js';
import { TextField } from '../../parts/field.js';
import styles from './usage.module.css';

interface TagChoiceProps {
  /** Tags that projects name; requests may have others. */
  known: readonly string[];
  value: string;
  onChoose: (name: string) => void;
}

/** The tag that usage is grouped by, where it is not one that a project names. */
export function TagChoice({ known, value, onChoose }: TagChoiceProps) {
  const [name, setName] = useState(value);
  const [isSent, setSent] = useState(false);
  const list = useId();
  const isName = TAG_NAME.test(name.trim());
  const send = (event: FormEvent) => {
    event.preventDefault();
    setSent(true);
    if (isName) onChoose(name.trim());
  };
  return (
    <form className={styles.tag} onSubmit={send} noValidate>
      <TextField
        label="Tag"
        value={name}
        onText={setName}
        list={list}
        autoComplete="off"
        fault={isSent && !isName ? 'Letters, digits and . _ - only.' : null}
      />
      <datalist id={list}>
        {known.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <Button type="submit">Show</Button>
    </form>
  );
}

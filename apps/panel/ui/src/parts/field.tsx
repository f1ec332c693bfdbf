import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, type TextareaHTMLAttributes, useId } from 'react';
import styles from './field.module.css';

/** A label, its input and a line below it: the fault, or else the hint. */
export function TextField({
  label,
  hint,
  fault,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { label: string; hint?: ReactNode; fault?: string | null }) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <input
        {...rest}
        id={id}
        className={styles.input}
        aria-invalid={fault ? true : undefined}
        aria-describedby={fault || hint ? `${id}-line` : undefined}
      />
      {(fault || hint) && (
        <p id={`${id}-line`} className={fault ? styles.fault : styles.hint}>
          {fault || hint}
        </p>
      )}
    </div>
  );
}

/** A label and an area that grows with its text. */
export function AreaField({ label, ...rest }: TextareaHTMLAttributes<HTMLTextAreaElement> & { label: string }) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <textarea {...rest} id={id} className={styles.area} />
    </div>
  );
}

export function SelectField({ label, children, ...rest }: SelectHTMLAttributes<HTMLSelectElement> & { label: string }) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <select {...rest} id={id} className={styles.select}>
        {children}
      </select>
    </div>
  );
}

/** A select without a visible label, for the filter bar. */
export function CompactSelect({ label, children, ...rest }: SelectHTMLAttributes<HTMLSelectElement> & { label: string }) {
  return (
    <select {...rest} className={styles.compact} aria-label={label} data-active={rest.value ? '' : undefined}>
      {children}
    </select>
  );
}

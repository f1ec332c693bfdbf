import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, type TextareaHTMLAttributes, useId } from 'react';
import { exactUsd } from '../format/numbers.js';
import styles from './field.module.css';

type InputProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'>;
type AreaProps = Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onChange'>;
type SelectProps = Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange' | 'value' | 'children'>;

interface TextProps {
  label: string;
  value: string;
  onText: (text: string) => void;
}

/** A label, its input and a line below it: the fault, or else the hint. */
export function TextField({ label, hint, fault, onText, ...rest }: InputProps & TextProps & { hint?: ReactNode; fault?: string | null }) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <input
        {...rest}
        id={id}
        className={styles.input}
        onChange={(event) => onText(event.target.value)}
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

/** A box to check, with its label beside it. */
export function CheckField({ label, isChecked, onCheck }: { label: string; isChecked: boolean; onCheck: (isChecked: boolean) => void }) {
  return (
    <label className={styles.check}>
      <input type="checkbox" checked={isChecked} onChange={(event) => onCheck(event.target.checked)} />
      {label}
    </label>
  );
}

/** A field for a whole number from 1 to `max`. */
export function LimitField({ placeholder = 'No limit', ...rest }: InputProps & TextProps & { max: number }) {
  return <TextField {...rest} type="number" min={1} placeholder={placeholder} />;
}

/** A field without a visible label, for filters. */
export function SearchField({ label, value, onText }: TextProps) {
  return (
    <input
      type="search"
      className={styles.compact}
      aria-label={label}
      placeholder={label}
      value={value}
      data-active={value ? '' : undefined}
      onChange={(event) => onText(event.target.value)}
    />
  );
}

/** A label and an area that grows with its text. */
export function AreaField({ label, hint, onText, ...rest }: AreaProps & TextProps & { hint?: ReactNode }) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <textarea
        {...rest}
        id={id}
        className={styles.area}
        onChange={(event) => onText(event.target.value)}
        aria-describedby={hint ? `${id}-line` : undefined}
      />
      {hint && (
        <p id={`${id}-line`} className={styles.hint}>
          {hint}
        </p>
      )}
    </div>
  );
}

type Option<Value> = readonly [value: Value, text: string];

interface ChoiceProps<Value> {
  label: string;
  value: Value;
  options: readonly Option<Value>[];
  onChoose: (value: Value) => void;
}

interface OptionGroups<Value> {
  /** Options below the others, each group with a title. */
  groups?: readonly { title: string; options: readonly Option<Value>[] }[];
}

export function SelectField<Value extends string | number>({
  label,
  options,
  groups = [],
  hint,
  onChoose,
  ...rest
}: SelectProps & ChoiceProps<Value> & OptionGroups<Value> & { hint?: string }) {
  const id = useId();
  const all = [...options, ...groups.flatMap((group) => group.options)];
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <select
        {...rest}
        id={id}
        className={styles.select}
        onChange={(event) => onChoose(chosenOf(event.target, all))}
        aria-describedby={hint && `${id}-line`}
      >
        <Options options={options} />
        <Groups groups={groups} />
      </select>
      {hint && (
        <p id={`${id}-line`} className={styles.hint}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** A select without a visible label, for filters. `all`: the text of no choice. */
export function CompactSelect({
  label,
  options,
  groups = [],
  onChoose,
  all,
  ...rest
}: SelectProps & ChoiceProps<string> & OptionGroups<string> & { all: string }) {
  return (
    <select
      {...rest}
      className={styles.compact}
      aria-label={label}
      data-active={rest.value ? '' : undefined}
      onChange={(event) => onChoose(event.target.value)}
    >
      <Options options={[['', all], ...options]} />
      <Groups groups={groups} />
    </select>
  );
}

function Groups({ groups }: Required<OptionGroups<string | number>>) {
  return groups.map(({ title, options }) => (
    <optgroup key={title} label={title}>
      <Options options={options} />
    </optgroup>
  ));
}

function Options({ options }: { options: readonly Option<string | number>[] }) {
  return options.map(([value, text]) => (
    <option key={value} value={value}>
      {text}
    </option>
  ));
}

function chosenOf<Value>(select: HTMLSelectElement, options: readonly Option<Value>[]): Value {
  return (options[select.selectedIndex] as Option<Value>)[0];
}

interface AmountFieldProps {
  label: string;
  value: string;
  onText: (text: string) => void;
  /** Reading of `value`: the amount, or why it is none. */
  read: { amount?: bigint; fault?: string };
  /** Writes the amount below the field. Default: in dollars. */
  render?: (amount: bigint) => string;
  hint?: ReactNode;
  placeholder?: string;
  /** True: it may be empty. */
  isOptional?: boolean;
}

/** A field for an amount. The line below it repeats what was read, so that a wrong point is seen before it costs something. */
export function AmountField(props: AmountFieldProps) {
  const { label, value, onText, render = exactUsd, hint, placeholder, isOptional = false } = props;
  const { amount, fault } = props.read;
  const echo = amount === undefined ? null : `= ${render(amount)}`;
  return (
    <TextField
      label={label}
      inputMode="decimal"
      autoComplete="off"
      value={value}
      onText={onText}
      fault={fault ?? null}
      hint={
        (echo || hint) && (
          <>
            {echo && <output>{echo}</output>}
            {echo && hint && ' · '}
            {hint}
          </>
        )
      }
      placeholder={placeholder}
      required={!isOptional}
    />
  );
}

import type { ReactNode } from 'react';
import { exactUsd } from '../format/usd.js';
import { TextField } from './field.js';

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

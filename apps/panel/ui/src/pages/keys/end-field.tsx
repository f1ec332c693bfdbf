import { SelectField } from '../../parts/field.js';
import { type EndChoice, lifetimesUntil } from './key-end.js';

interface EndFieldProps {
  label: string;
  value: EndChoice;
  onChange: (choice: EndChoice) => void;
  /** Text of the choice that leaves the end as it is. Absent: it is no choice. */
  keep?: string;
  /** Latest end that the key may have, of a key that was replaced. Absent: any, or none. */
  latest?: string;
}

/** The choice of a key's end. */
export function EndField({ label, value, onChange, keep, latest }: EndFieldProps) {
  return (
    <SelectField<EndChoice>
      label={label}
      options={[
        ...(keep ? [['keep', keep] as const] : []),
        ...(latest === undefined ? [['never', 'Never'] as const] : []),
        ...lifetimesUntil(latest, Date.now()).map((days) => [days, days === 1 ? 'In a day' : `In ${days} days`] as const),
      ]}
      value={value}
      onChoose={onChange}
    />
  );
}

import { SelectField } from '../../parts/field.js';
import { type EndChoice, LIFETIME_DAYS } from './key-end.js';

interface EndFieldProps {
  label: string;
  value: EndChoice;
  onChange: (choice: EndChoice) => void;
  /** Text of the choice that leaves the end as it is. Absent: it is no choice. */
  keep?: string;
  /** True for a key that must have an end. */
  mustEnd?: boolean;
}

/** The choice of a key's end. */
export function EndField({ label, value, onChange, keep, mustEnd }: EndFieldProps) {
  return (
    <SelectField
      label={label}
      value={value}
      onChange={({ target }) => onChange(target.value === 'keep' || target.value === 'never' ? target.value : Number(target.value))}
    >
      {keep && <option value="keep">{keep}</option>}
      {!mustEnd && <option value="never">Never</option>}
      {LIFETIME_DAYS.map((days) => (
        <option key={days} value={days}>
          {days === 1 ? 'In a day' : `In ${days} days`}
        </option>
      ))}
    </SelectField>
  );
}

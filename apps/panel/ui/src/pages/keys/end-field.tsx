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
    <SelectField
      label={label}
      value={value}
      onChange={({ target }) => onChange(target.value === 'keep' || target.value === 'never' ? target.value : Number(target.value))}
    >
      {keep && <option value="keep">{keep}</option>}
      {latest === undefined && <option value="never">Never</option>}
      {lifetimesUntil(latest, Date.now()).map((days) => (
        <option key={days} value={days}>
          {days === 1 ? 'In a day' : `In ${days} days`}
        </option>
      ))}
    </SelectField>
  );
}

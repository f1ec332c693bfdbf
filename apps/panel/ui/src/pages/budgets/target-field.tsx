import { COUNTINGS, type Counting } from '../../data/budget-values.js';
import { useNames } from '../../data/use-names.js';
import { SelectField, TextField } from '../../parts/field.js';

interface Target {
  projectId?: string;
  keyId?: string;
}

/** Parses a choice of `TargetField`: `account`, `projectId/…` or `keyId/…`. */
export function parseTarget(choice: string): Target {
  const [field = '', id] = choice.split('/');
  return id ? { [field]: id } : {};
}

/** The choice of what a budget is of: the account, one of its projects, or one of its keys. */
export function TargetField({ value, onChange }: { value: string; onChange: (choice: string) => void }) {
  const { projects = [], keys = [], projectName, keyName } = useNames();
  return (
    <SelectField label="Budget of" value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="account">The whole account</option>
      <optgroup label="Projects">
        {projects.map(({ projectId, name }) => (
          <option key={projectId} value={`projectId/${projectId}`}>
            {name}
          </option>
        ))}
      </optgroup>
      <optgroup label="Keys">
        {keys
          .filter(({ status }) => status === 'active')
          .map(({ keyId, projectId }) => (
            <option key={keyId} value={`keyId/${keyId}`}>
              {`${keyName(keyId)}, ${projectName(projectId)}`}
            </option>
          ))}
      </optgroup>
    </SelectField>
  );
}

interface CountingFieldProps {
  counting: Counting;
  /** The user or the tag. */
  text: string;
  onChange: (counting: Counting, text: string) => void;
}

/** The choice of the requests that a budget counts: all together, or those of users or of values of a tag. */
export function CountingField({ counting, text, onChange }: CountingFieldProps) {
  const { field } = COUNTINGS[counting];
  return (
    <>
      <SelectField label="Counts" value={counting} onChange={(event) => onChange(event.target.value as Counting, '')}>
        {Object.entries(COUNTINGS).map(([name, { label }]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </SelectField>
      {field && <TextField label={field} value={text} onChange={(event) => onChange(counting, event.target.value)} required />}
    </>
  );
}

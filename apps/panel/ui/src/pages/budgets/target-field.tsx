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
    <SelectField
      label="Budget of"
      options={[['account', 'The whole account']]}
      groups={[
        { title: 'Projects', options: projects.map(({ projectId, name }) => [`projectId/${projectId}`, name]) },
        {
          title: 'Keys',
          options: keys
            .filter(({ status }) => status === 'active')
            .map(({ keyId, projectId }) => [`keyId/${keyId}`, `${keyName(keyId)}, ${projectName(projectId)}`]),
        },
      ]}
      value={value}
      onChoose={onChange}
    />
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
      <SelectField
        label="Counts"
        options={(Object.keys(COUNTINGS) as Counting[]).map((name) => [name, COUNTINGS[name].label])}
        value={counting}
        onChoose={(chosen) => onChange(chosen, '')}
      />
      {field && <TextField label={field} value={text} onText={(written) => onChange(counting, written)} required />}
    </>
  );
}

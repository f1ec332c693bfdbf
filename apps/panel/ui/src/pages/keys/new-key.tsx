import { useState } from 'react';
import type { CreatedKey, KeyCreateBody } from '../../../../src/api/shapes/keys.js';
import type { ModelListReply } from '../../../../src/api/shapes/models.js';
import type { Project } from '../../../../src/api/shapes/projects.js';
import { useApi, useChange } from '../../app/use-api.js';
import { Button } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { Failure } from '../../parts/failure.js';
import { SelectField, TextField } from '../../parts/field.js';
import { CALLS, type CallName, gatewayUrl } from './calls.js';
import styles from './new-key.module.css';

/** Makes a key and shows it once, with a call that works. */
export function NewKey({ projects, projectId, onClose }: { projects: Project[]; projectId: string | undefined; onClose: () => void }) {
  // Made once: a form that is sent twice makes one key.
  const [keyId] = useState(() => crypto.randomUUID());
  const [project, setProject] = useState(projectId ?? projects[0]?.projectId ?? '');
  const [name, setName] = useState('');
  const making = useChange<CreatedKey>(() => ({
    method: 'POST',
    path: `/projects/${project}/keys`,
    body: { keyId, ...(name && { name }) } satisfies KeyCreateBody,
  }));
  if (making.data) return <ShownOnce created={making.data} onClose={onClose} />;
  return (
    <Dialog title="New key" onClose={onClose}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          making.mutate();
        }}
      >
        <SelectField label="Project" value={project} onChange={(event) => setProject(event.target.value)}>
          {projects.map((each) => (
            <option key={each.projectId} value={each.projectId}>
              {each.name}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Name"
          hint="Where the key is used, such as production."
          value={name}
          onChange={(event) => setName(event.target.value)}
          maxLength={200}
        />
        {making.error && <Failure error={making.error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={making.isPending}>
            Make key
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function ShownOnce({ created, onClose }: { created: CreatedKey; onClose: () => void }) {
  const [call, setCall] = useState<CallName>('curl');
  const models = useApi<ModelListReply>('/models');
  const model = models.data?.models[0]?.id ?? 'model';
  return (
    <Dialog title="Your new key" onClose={onClose}>
      <p>Copy it now. The panel cannot show it again.</p>
      <CopyLine text={created.key} label="Copy the key" wrap />
      <div className={styles.tabs} role="tablist" aria-label="Programs">
        {(Object.keys(CALLS) as CallName[]).map((name) => (
          <button key={name} type="button" role="tab" aria-selected={name === call} onClick={() => setCall(name)}>
            {CALLS[name].title}
          </button>
        ))}
      </div>
      <CopyLine text={CALLS[call].text({ url: gatewayUrl(window.location), key: created.key, model })} label="Copy the call" />
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}

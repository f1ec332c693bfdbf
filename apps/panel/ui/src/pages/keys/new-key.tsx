import { useState } from 'react';
import { NAME_LENGTH_MAX } from '#contracts/rules/bounds.js';
import type { CreatedKey, KeyCreateBody } from '../../../../src/shapes/keys.js';
import type { Project } from '../../../../src/shapes/projects.js';
import { useChange } from '../../data/use-api.js';
import { listProjects } from '../../data/use-names.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { SelectField, TextField } from '../../parts/field.js';
import { EndField } from './end-field.js';
import { type EndChoice, resolveEnd } from './key-end.js';
import { ShownOnce } from './shown-once.js';

/** Makes a key and shows it once, with a call that works. */
export function NewKey({ projects, projectId, onClose }: { projects: Project[]; projectId: string | undefined; onClose: () => void }) {
  // Made once: a form that is sent twice makes one key.
  const [keyId] = useState(() => crypto.randomUUID());
  const [project, setProject] = useState(projectId ?? projects[0]?.projectId ?? '');
  const [name, setName] = useState('');
  const [end, setEnd] = useState<EndChoice>('never');
  const making = useChange<CreatedKey>(() => {
    const expiresAt = resolveEnd(end, Date.now());
    const body: KeyCreateBody = { keyId, ...(name && { name }), ...(expiresAt && { expiresAt }) };
    return { method: 'POST', path: `/projects/${project}/keys`, body };
  });
  if (making.data) return <ShownOnce created={making.data} onClose={onClose} />;
  return (
    <DialogForm title="New key" submit="Create key" change={making} onClose={onClose}>
      <SelectField label="Project" options={listProjects(projects)} value={project} onChoose={setProject} />
      <TextField label="Name" hint="Where the key is used, such as production." value={name} onText={setName} maxLength={NAME_LENGTH_MAX} />
      <EndField label="Ends" value={end} onChange={setEnd} />
    </DialogForm>
  );
}

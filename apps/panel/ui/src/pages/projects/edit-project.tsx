import { useState } from 'react';
import type { Project, ProjectCreateBody, ProjectUpdateBody } from '../../../../src/shapes/projects.js';
import { useSession } from '../../data/session.js';
import { useChange } from '../../data/use-api.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { SelectField, TextField } from '../../parts/field.js';

/** Makes a project, or changes one. Limits are the operator's. */
export function EditProject({ project, onClose }: { project?: Project; onClose: () => void }) {
  const { account, mayOnPlatform } = useSession();
  const maySetLimits = mayOnPlatform('accounts');
  // Made once: a form that is sent twice makes one project.
  const [projectId] = useState(() => project?.projectId ?? crypto.randomUUID());
  const [name, setName] = useState(project?.name ?? '');
  const [enabled, setEnabled] = useState(project?.enabled ?? true);
  const [perMinute, setPerMinute] = useState(`${project?.requestsPerMinuteMax ?? ''}`);
  const [atOnce, setAtOnce] = useState(`${project?.concurrencyMax ?? ''}`);
  const limits = maySetLimits && {
    ...(perMinute && { requestsPerMinuteMax: Number(perMinute) }),
    ...(atOnce && { concurrencyMax: Number(atOnce) }),
  };
  const saving = useChange<Project>(() =>
    project
      ? { method: 'PATCH', path: `/projects/${projectId}`, body: { name, enabled, ...limits } satisfies ProjectUpdateBody }
      : { method: 'POST', path: `/accounts/${account}/projects`, body: { projectId, name, ...limits } satisfies ProjectCreateBody },
  );
  return (
    <DialogForm
      title={project ? project.name : 'New project'}
      submit={project ? 'Save' : 'Create project'}
      change={saving}
      onDone={onClose}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={(event) => setName(event.target.value)} maxLength={200} required />
      {project && (
        <SelectField label="State" value={enabled ? 'on' : 'off'} onChange={(event) => setEnabled(event.target.value === 'on')}>
          <option value="on">Enabled</option>
          <option value="off">Disabled: its keys are refused, its running requests stopped</option>
        </SelectField>
      )}
      {maySetLimits && (
        <>
          <TextField
            label="Requests a minute"
            type="number"
            min={1}
            max={1_000_000}
            value={perMinute}
            onChange={(event) => setPerMinute(event.target.value)}
            placeholder="Default of the platform"
          />
          <TextField
            label="Requests at once"
            type="number"
            min={1}
            max={100_000}
            value={atOnce}
            onChange={(event) => setAtOnce(event.target.value)}
            placeholder="Default of the platform"
          />
        </>
      )}
    </DialogForm>
  );
}

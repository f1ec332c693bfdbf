import { useState } from 'react';
import { CONCURRENCY_MAX, NAME_LENGTH_MAX, REQUESTS_PER_MINUTE_MAX } from '#contracts/rules/bounds.js';
import type { Project, ProjectCreateBody, ProjectUpdateBody } from '../../../../src/shapes/projects.js';
import { useSession } from '../../data/session.js';
import { useChange } from '../../data/use-api.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { LimitField, SelectField, TextField } from '../../parts/field.js';

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
      <TextField label="Name" value={name} onText={setName} maxLength={NAME_LENGTH_MAX} required />
      {project && (
        <SelectField
          label="State"
          options={[
            ['on', 'Enabled'],
            ['off', 'Disabled: its keys are refused, its running requests stopped'],
          ]}
          value={enabled ? 'on' : 'off'}
          onChoose={(state) => setEnabled(state === 'on')}
        />
      )}
      {maySetLimits && (
        <>
          <LimitField
            label="Requests a minute"
            max={REQUESTS_PER_MINUTE_MAX}
            value={perMinute}
            onText={setPerMinute}
            placeholder="Default of the platform"
          />
          <LimitField
            label="Requests at once"
            max={CONCURRENCY_MAX}
            value={atOnce}
            onText={setAtOnce}
            placeholder="Default of the platform"
          />
        </>
      )}
    </DialogForm>
  );
}

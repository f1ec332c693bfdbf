import type { CatalogModel } from '../../../../src/shapes/models.js';
import type { Project } from '../../../../src/shapes/projects.js';
import { count } from '../../format/count.js';
import { exactUsd, usdPerMillion } from '../../format/usd.js';
import { Card } from '../../parts/card.js';
import { AreaField, SelectField, TextField } from '../../parts/field.js';
import type { Options, ReadOptions } from './options.js';
import styles from './playground.module.css';

interface OptionsCardProps {
  projects: Project[];
  models: CatalogModel[];
  /** Id of the chosen project. */
  project: string;
  model: CatalogModel;
  onChoose: (choice: { project?: string; model?: string }) => void;
  options: Options;
  faults: ReadOptions['faults'];
  onChange: (options: Options) => void;
}

export function OptionsCard({ projects, models, project, model, onChoose, options, faults, onChange }: OptionsCardProps) {
  const { inputPicoUsd, outputPicoUsd, requestPicoUsd } = model.price;
  return (
    <Card>
      <div className={styles.options}>
        <SelectField label="Project" value={project} onChange={(event) => onChoose({ project: event.target.value })}>
          {projects.map(({ projectId, name }) => (
            <option key={projectId} value={projectId}>
              {name}
            </option>
          ))}
        </SelectField>
        <div className={styles.model}>
          <SelectField label="Model" value={model.id} onChange={(event) => onChoose({ model: event.target.value })}>
            {models.map(({ id, displayName }) => (
              <option key={id} value={id}>
                {displayName ?? id}
              </option>
            ))}
          </SelectField>
          <p className={styles.faint}>
            {usdPerMillion(BigInt(inputPicoUsd))} in, {usdPerMillion(BigInt(outputPicoUsd))} out per million tokens
            {requestPicoUsd !== undefined && `, ${exactUsd(BigInt(requestPicoUsd))} a request`}
          </p>
        </div>
        <AreaField
          label="System text"
          placeholder="None"
          value={options.system}
          onChange={(event) => onChange({ ...options, system: event.target.value })}
        />
        <TextField
          label="Longest reply in tokens"
          inputMode="numeric"
          value={options.maxTokens}
          fault={faults.maxTokens}
          hint={`Up to ${count(model.maxOutputTokens)}. All of it is held.`}
          onChange={(event) => onChange({ ...options, maxTokens: event.target.value })}
        />
        <TextField
          label="Temperature"
          inputMode="decimal"
          placeholder="The model’s own"
          value={options.temperature}
          fault={faults.temperature}
          onChange={(event) => onChange({ ...options, temperature: event.target.value })}
        />
      </div>
    </Card>
  );
}

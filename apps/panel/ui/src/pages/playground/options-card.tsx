import type { Project } from '../../../../src/shapes/billing.js';
import type { CatalogModel } from '../../../../src/shapes/catalog.js';
import { listProjects } from '../../data/session.js';
import { count, exactUsd, usdPerMillion } from '../../format/numbers.js';
import { AreaField, SelectField, TextField } from '../../parts/field.js';
import { Card } from '../../parts/page.js';
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
        <SelectField
          label="Project"
          options={listProjects(projects)}
          value={project}
          onChoose={(chosen) => onChoose({ project: chosen })}
        />
        <div className={styles.model}>
          <SelectField
            label="Model"
            options={models.map(({ id, displayName }) => [id, displayName ?? id])}
            value={model.id}
            onChoose={(chosen) => onChoose({ model: chosen })}
          />
          <p className={styles.faint}>
            {usdPerMillion(BigInt(inputPicoUsd))} in, {usdPerMillion(BigInt(outputPicoUsd))} out per million tokens
            {requestPicoUsd !== undefined && `, ${exactUsd(BigInt(requestPicoUsd))} a request`}
          </p>
        </div>
        <AreaField label="System text" placeholder="None" value={options.system} onText={(system) => onChange({ ...options, system })} />
        <TextField
          label="Longest reply in tokens"
          inputMode="numeric"
          value={options.maxTokens}
          fault={faults.maxTokens}
          hint={`Up to ${count(model.maxOutputTokens)}. All of it is held.`}
          onText={(maxTokens) => onChange({ ...options, maxTokens })}
        />
        <TextField
          label="Temperature"
          inputMode="decimal"
          placeholder="The model’s own"
          value={options.temperature}
          fault={faults.temperature}
          onText={(temperature) => onChange({ ...options, temperature })}
        />
      </div>
    </Card>
  );
}

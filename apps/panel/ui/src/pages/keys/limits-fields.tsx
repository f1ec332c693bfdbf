import { CONCURRENCY_MAX, MODEL_LIMITS_MAX, REQUESTS_PER_MINUTE_MAX, TOKENS_MAX } from '#contracts/rules/bounds.js';
import type { OperatorLimits } from '../../../../src/shapes/billing.js';
import type { ModelListReply } from '../../../../src/shapes/catalog.js';
import { useApi } from '../../data/api.js';
import { count } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Button, IconButton } from '../../parts/button.js';
import { AreaField, LimitField, TextField } from '../../parts/field.js';
import {
  describeModelList,
  type KeyLimits,
  type LimitsDraft,
  limitWords,
  type ModelLimitDraft,
  matchModels,
  readLimits,
  readList,
} from './key-limits.js';
import styles from './keys.module.css';

interface LimitsFieldsProps {
  draft: LimitsDraft;
  onChange: (draft: LimitsDraft) => void;
  /** The most that the operator allows. */
  operatorLimits?: OperatorLimits | undefined;
}

/** The lists and limits of a key, in a section that shows them in short while it is closed. */
export function LimitsFields({ draft, onChange, operatorLimits }: LimitsFieldsProps) {
  const change = (fields: Partial<LimitsDraft>) => onChange({ ...draft, ...fields });
  const changeRow = (id: string, fields: Partial<ModelLimitDraft>) =>
    change({ byModel: draft.byModel.map((row) => (row.id === id ? { ...row, ...fields } : row)) });
  return (
    <details className={styles.limits}>
      <summary>
        Models, networks and limits: <LimitBadges limits={readLimits(draft)} none="not limited" />
      </summary>
      <div className={styles.fields}>
        <AreaField
          label="Models"
          hint={<AllowedModels text={draft.models} />}
          rows={2}
          value={draft.models}
          onText={(models) => change({ models })}
          spellCheck={false}
        />
        <AreaField
          label="Networks"
          hint="Addresses or networks such as 10.0.0.0/8, one a line, from which the key works. Empty: from anywhere."
          rows={2}
          value={draft.networks}
          onText={(networks) => change({ networks })}
          spellCheck={false}
        />
        <div className={styles.three}>
          <LimitField
            label="Requests a minute"
            max={REQUESTS_PER_MINUTE_MAX}
            value={draft.requests}
            onText={(requests) => change({ requests })}
            placeholder={describeMost(operatorLimits?.requestsPerMinuteMax)}
          />
          <LimitField
            label="Tokens a minute"
            max={TOKENS_MAX}
            value={draft.tokens}
            onText={(tokens) => change({ tokens })}
            placeholder={describeMost(operatorLimits?.tokensPerMinuteMax)}
          />
          <LimitField
            label="Concurrent requests"
            max={CONCURRENCY_MAX}
            value={draft.atOnce}
            onText={(atOnce) => change({ atOnce })}
            placeholder={describeMost(operatorLimits?.concurrencyMax)}
          />
        </div>
        {draft.byModel.map(({ id, model, requests, tokens }, at) => (
          <fieldset key={id} className={styles.byModel}>
            <legend>Limit by model {at + 1}</legend>
            <TextField
              label="Model"
              placeholder="gpt-*"
              value={model}
              onText={(text) => changeRow(id, { model: text })}
              maxLength={256}
              required
            />
            <LimitField
              label="Requests a minute"
              max={REQUESTS_PER_MINUTE_MAX}
              value={requests}
              onText={(text) => changeRow(id, { requests: text })}
              required={tokens === ''}
            />
            <LimitField label="Tokens a minute" max={TOKENS_MAX} value={tokens} onText={(text) => changeRow(id, { tokens: text })} />
            <IconButton
              icon="close"
              label={`Remove limit by model ${at + 1}`}
              onClick={() => change({ byModel: draft.byModel.filter((row) => row.id !== id) })}
            />
          </fieldset>
        ))}
        {draft.byModel.length < MODEL_LIMITS_MAX && (
          <Button
            look="quiet"
            icon="plus"
            onClick={() => change({ byModel: [...draft.byModel, { id: crypto.randomUUID(), model: '', requests: '', tokens: '' }] })}
          >
            Limit by model
          </Button>
        )}
        <p>Limits of the project and the account apply beside them.</p>
      </div>
    </details>
  );
}

/** Says which models the patterns allow now, and which patterns allow none. */
function AllowedModels({ text }: { text: string }) {
  const { data } = useApi<ModelListReply>('/models');
  const patterns = readList(text);
  if (patterns.length === 0 || !data) return describeModelList(data?.models.map(({ id }) => id) ?? []);
  const { allowed, unmatched } = matchModels(
    patterns,
    data.models.map(({ id }) => id),
  );
  return (
    <>
      {unmatched.length > 0 && <strong className={styles.unmatched}>There is no model {unmatched.join(' or ')} yet. </strong>}
      {allowed.length > 0 && `Allows ${allowed.join(', ')}.`}
    </>
  );
}

function describeMost(limit: number | undefined): string {
  return limit === undefined ? 'No limit' : `At most ${count(limit)}`;
}

/** The limits in badges. `none`: in place of them. */
export function LimitBadges({ limits, none }: { limits: Partial<KeyLimits>; none?: string }) {
  const words = limitWords(limits);
  if (words.length === 0) return none ?? null;
  return (
    <span className={styles.badges}>
      {words.map(({ text, whole }) => (
        <span key={whole} title={whole}>
          <Badge>{text}</Badge>
        </span>
      ))}
    </span>
  );
}

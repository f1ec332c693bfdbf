import { POLICY_DEADLINE_MS_DEFAULT, POLICY_DEADLINE_MS_MAX } from '#contracts/rules/bounds.js';
import type { Project, ProjectUpdateBody } from '../../../../src/shapes/billing.js';
import { CheckField, LimitField, SelectField, TextField } from '../../parts/field.js';

type Policy = NonNullable<Project['policy']>;

/** Texts of the form. An empty name is no policy. */
export interface PolicyTexts {
  name: string;
  deadline: string;
  fail: Policy['fail'];
  sendText: boolean;
}

export function toTexts(policy: Policy | undefined): PolicyTexts {
  return {
    name: policy?.name ?? '',
    deadline: `${policy?.deadlineMs ?? POLICY_DEADLINE_MS_DEFAULT}`,
    fail: policy?.fail ?? 'closed',
    sendText: policy?.sendText ?? false,
  };
}

/** Returns the change of the policy; nothing when the texts are those of the present one. */
export function changePolicy(texts: PolicyTexts, present: Policy | undefined): Pick<ProjectUpdateBody, 'policy'> {
  if (JSON.stringify(texts) === JSON.stringify(toTexts(present))) return {};
  const { name, deadline, fail, sendText } = texts;
  if (name === '') return present ? { policy: null } : {};
  return { policy: { name, deadlineMs: Number(deadline || POLICY_DEADLINE_MS_DEFAULT), fail, sendText } };
}

/** Sets the policy that the gateway asks before each hold. */
export function PolicyFields({ texts, onChange }: { texts: PolicyTexts; onChange: (texts: PolicyTexts) => void }) {
  const set = (changed: Partial<PolicyTexts>) => onChange({ ...texts, ...changed });
  return (
    <>
      <TextField label="Policy" value={texts.name} onText={(name) => set({ name })} maxLength={63} placeholder="None" />
      {texts.name !== '' && (
        <>
          <LimitField
            label="Milliseconds that a request waits for it"
            max={POLICY_DEADLINE_MS_MAX}
            value={texts.deadline}
            onText={(deadline) => set({ deadline })}
          />
          <SelectField
            label="When it fails"
            options={[
              ['closed', 'Refuse the request'],
              ['open', 'Let the request run as it is'],
            ]}
            value={texts.fail}
            onChoose={(fail) => set({ fail: fail === 'open' ? 'open' : 'closed' })}
          />
          <CheckField label="Send it the texts of prompts" isChecked={texts.sendText} onCheck={(sendText) => set({ sendText })} />
        </>
      )}
    </>
  );
}

/** Returns the policy in a few words. */
export function policyWords({ name, deadlineMs, fail, sendText }: Policy): string {
  return `${name}: ${deadlineMs} ms, fails ${fail}, ${sendText ? 'gets texts' : 'gets no texts'}`;
}

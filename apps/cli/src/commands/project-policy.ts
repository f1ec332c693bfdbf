import { InvalidArgumentError } from 'commander';
import type { ProjectPolicy } from '#contracts/billing/project-policy.js';
import { POLICY_DEADLINE_MS_DEFAULT, POLICY_DEADLINE_MS_MAX, POLICY_FAIL_MODES, POLICY_NAME } from '#contracts/rules/bounds.js';
import { flag, type Kind, oneOf, optional, wholeNumber } from '../parameters.js';
import { UsageError } from '../usage-error.js';

const policyName: Kind<string> = {
  placeholder: 'name',
  parse: (text) => {
    if (text === '' || POLICY_NAME.test(text)) return text;
    throw new InvalidArgumentError('Must have 1 to 63 lower case letters, digits and hyphens.');
  },
};

/** Options that are the whole policy of a project. */
export const policyParameters = {
  policy: optional(policyName, "policy that is asked before each hold, at policy.v1.decide.<name>; '' for none"),
  policyDeadline: optional(
    wholeNumber(1, POLICY_DEADLINE_MS_MAX),
    `milliseconds that a request waits for it; default: ${POLICY_DEADLINE_MS_DEFAULT}`,
  ),
  policyFail: optional(
    oneOf(POLICY_FAIL_MODES, 'mode'),
    'what counts when it fails: refuse the request (closed, the default) or let it run (open)',
  ),
  policyText: flag('send it the texts of prompts, which it may then redact'),
};

interface PolicyOptions {
  policy?: string | undefined;
  policyDeadline?: number | undefined;
  policyFail?: ProjectPolicy['fail'] | undefined;
  policyText?: true | undefined;
}

/** Returns the policy that the options set; null removes it, and undefined is no change. */
export function readPolicy({ policy, policyDeadline, policyFail, policyText }: PolicyOptions): ProjectPolicy | null | undefined {
  const hasDetails = [policyDeadline, policyFail, policyText].some((value) => value !== undefined);
  if (!policy && hasDetails) throw new UsageError('--policy-deadline, --policy-fail and --policy-text need --policy');
  if (policy === undefined) return undefined;
  if (policy === '') return null;
  return {
    name: policy,
    deadlineMs: policyDeadline ?? POLICY_DEADLINE_MS_DEFAULT,
    fail: policyFail ?? 'closed',
    sendText: policyText ?? false,
  };
}

/** Returns the policy in one line. */
export function renderPolicy({ name, deadlineMs, fail, sendText }: ProjectPolicy): string {
  return `${name}, ${deadlineMs} ms, fails ${fail}, ${sendText ? 'with' : 'without'} texts`;
}

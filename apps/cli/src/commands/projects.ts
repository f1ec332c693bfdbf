import { type Project, projectCreate, projectList, projectUpdate } from '#contracts/billing/projects.js';
import { command } from '../command.js';
import { idColumn, readNames } from '../names.js';
import {
  account,
  accountId,
  argument,
  clearableNumber,
  concurrency,
  cursor,
  flag,
  listKind,
  modelLimits,
  optional,
  projectId,
  required,
  rpm,
  text,
  tpm,
} from '../parameters.js';
import { limitFields, morePages, renderFields, renderTable } from '../render.js';
import { UsageError } from '../usage-error.js';
import { policyParameters, readPolicy, renderPolicy } from './project-policy.js';

const rpmOption = optional(rpm, 'maximum of requests in any minute');
const concurrencyOption = optional(concurrency, 'maximum of concurrent requests');
const tags = optional(
  listKind(text(64, 'names')),
  "names of metadata pairs that are tags of its requests, separated by commas; '' for none",
);

export const projectCommands = [
  command({
    name: 'project create',
    summary: 'Add a project to an account; limits default to those of the billing service',
    parameters: {
      account,
      name: required(text(200), 'display name'),
      rpm: rpmOption,
      concurrency: concurrencyOption,
      tpm: optional(tpm, 'maximum of tokens in any minute; default: none'),
      tags,
    },
    examples: ['project create --account acme --name web', 'project create --account acme --name web --rpm 600 --concurrency 50'],
    endpoint: projectCreate,
    request: (values) => ({
      accountId: values.account,
      name: values.name,
      requestsPerMinuteMax: values.rpm,
      concurrencyMax: values.concurrency,
      tokensPerMinuteMax: values.tpm,
      tags: values.tags,
    }),
    render: renderProject,
  }),
  command({
    name: 'project list',
    summary: 'List projects',
    parameters: { account: optional(accountId, 'only projects of this account'), cursor },
    examples: ['project list', 'project list --account acme'],
    endpoint: projectList,
    request: ({ account, cursor }) => ({ accountId: account, cursor }),
    lookUp: (_, messaging) => readNames(messaging, ['account']),
    render: ({ projects, nextCursor }, names) =>
      renderTable(projects, 'no projects', {
        PROJECT: (row) => row.name,
        ...idColumn(projects, ({ projectId }) => projectId),
        ACCOUNT: (row) => names('account', row.accountId),
        ENABLED: (row) => row.enabled,
        RPM: (row) => row.requestsPerMinuteMax,
        CONCURRENCY: (row) => row.concurrencyMax,
        TPM: (row) => row.tokensPerMinuteMax,
      }) + morePages(nextCursor),
  }),
  command({
    name: 'project update',
    summary: 'Change the limits, name, tags, policy or state of a project',
    parameters: {
      projectId: argument(projectId, 'name or id of the project'),
      name: optional(text(200), 'display name'),
      rpm: rpmOption,
      concurrency: concurrencyOption,
      tpm: optional(clearableNumber(tpm), "maximum of tokens in any minute; '' for none"),
      modelLimits: optional(modelLimits, "limits per minute of patterns of models, which replace those before; '' for none"),
      tags,
      ...policyParameters,
      enabled: flag('accept its keys again'),
      disabled: flag('refuse its keys'),
    },
    examples: [
      'project update web --rpm 1200',
      'project update web --tags team,feature',
      "project update web --model-limits 'gpt-*=tpm:100000,rpm:60; o3=rpm:5'",
      'project update web --policy secrets --policy-fail closed --policy-text',
      'project update web --disabled',
    ],
    endpoint: projectUpdate,
    request: ({ projectId, name, rpm, concurrency, tpm, modelLimits, tags, enabled, disabled, ...policyOptions }) => {
      if (enabled && disabled) throw new UsageError('--enabled and --disabled contradict each other');
      const policy = readPolicy(policyOptions);
      if ([name, rpm, concurrency, tpm, modelLimits, tags, policy, enabled, disabled].every((value) => value === undefined)) {
        throw new UsageError(
          'nothing to change: give --name, --rpm, --concurrency, --tpm, --model-limits, --tags, --policy, --enabled or --disabled',
        );
      }
      return {
        projectId,
        name,
        requestsPerMinuteMax: rpm,
        concurrencyMax: concurrency,
        tokensPerMinuteMax: tpm === 0 ? null : tpm,
        modelLimits,
        tags,
        policy,
        enabled: enabled ?? (disabled ? false : undefined),
      };
    },
    render: renderProject,
  }),
];

function renderProject(project: Project): string {
  return renderFields({
    project: project.projectId,
    account: project.accountId,
    name: project.name,
    enabled: project.enabled,
    ...limitFields(project),
    ...(project.tags.length > 0 && { tags: project.tags.join(', ') }),
    ...(project.policy && { policy: renderPolicy(project.policy) }),
    created: project.createdAt,
  });
}

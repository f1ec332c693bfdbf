import { ANSWERS } from './answers.js';
import { ENDS } from './ends.js';
import { FAILURES } from './failures.js';
import { CLIENT_FORMATS, type ClientFormat, DIALECTS, type Dialect, type Exception, type Scenario } from './scenario.js';
import { TOOL_CALLS } from './tools.js';

export const SCENARIOS: readonly Scenario[] = [...ANSWERS, ...TOOL_CALLS, ...ENDS, ...FAILURES];

export const MODES = ['plain', 'streamed'] as const;
export type Mode = (typeof MODES)[number];

/** One scenario for one pair of client format and dialect. */
export interface Case {
  scenario: Scenario;
  client: ClientFormat;
  dialect: Dialect;
}

/** All possible cases. */
export function everyCase(): Case[] {
  return SCENARIOS.flatMap((scenario) =>
    CLIENT_FORMATS.flatMap((client) =>
      DIALECTS.map((dialect) => ({ scenario, client, dialect })).filter((one) => whyImpossible(one) === undefined),
    ),
  );
}

/** Exceptions of the scenario for this pair. */
export function findExceptions({ scenario, client, dialect }: Case, mode?: Mode): Exception[] {
  return (scenario.exceptions ?? []).filter(
    (exception) =>
      (exception.client ?? client) === client &&
      [exception.dialect ?? dialect].flat().includes(dialect) &&
      (mode === undefined || (exception.mode ?? mode) === mode),
  );
}

function whyImpossible(one: Case): string | undefined {
  return findExceptions(one).find(({ impossible }) => impossible)?.reason;
}

/** Renders docs/pairs.md: the scenarios, their number, and the exceptions. */
export function renderGrid(): string {
  const reasons: string[] = [];
  const note = (reason: string): string => {
    if (!reasons.includes(reason)) reasons.push(reason);
    return ` ${reasons.indexOf(reason) + 1}`;
  };
  const renderCell = (one: Case): string => {
    const impossible = whyImpossible(one);
    if (impossible !== undefined) return `–${note(impossible)}`;
    return `✓${findExceptions(one).map(({ reason }) => note(reason))}`;
  };
  const pairs = CLIENT_FORMATS.flatMap((client) => DIALECTS.map((dialect) => ({ client, dialect })));
  const rows = SCENARIOS.map((scenario) => [scenario.name, ...pairs.map((pair) => renderCell({ scenario, ...pair }))]);
  const header = ['', ...pairs.map(({ client, dialect }) => `${client} at ${dialect}`)];
  const count = everyCase().length;
  return `${INTRODUCTION}
**${SCENARIOS.length} scenarios at ${pairs.length} pairs make ${count} cases, and ${2 * count} requests.**

${[header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}

${reasons.map((reason, index) => `${index + 1}. ${reason}`).join('\n')}
`;
}

const INTRODUCTION = `# Pairs
<!-- Generated from test/e2e/pairs/ by: PAIRS=write npm test -- checks pairs -->

Every client format at upstreams of every dialect. Each scenario is one conversation, written once
independently of formats ([\`test/e2e/pairs/\`](../test/e2e/pairs)), and runs for every pair
through the whole system: the official client of the format, gateway, billing, catalog,
inference-proxy, and a simulated upstream of the dialect. Each case (✓) runs plain and streamed, and
passes when

- the reply matches the scenario in both modes, and the official client folds the stream to the plain
  reply;
- the reported usage follows the upstream's rule, the same in every format at every dialect;
- the bill, read as soon as the reply has ended, has that usage and costs usage times price, and no
  hold is left;
- a failure before content costs nothing, and a failure after content costs the received content by
  estimate.

A dash is an impossible case. A number refers to its reason, or to the difference of a case.
`;

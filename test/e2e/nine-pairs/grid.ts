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
export function exceptionsOf({ scenario, client, dialect }: Case, mode?: Mode): Exception[] {
  return (scenario.exceptions ?? []).filter(
    (exception) =>
      (exception.client ?? client) === client &&
      (exception.dialect ?? dialect) === dialect &&
      (mode === undefined || (exception.mode ?? mode) === mode),
  );
}

function whyImpossible(one: Case): string | undefined {
  return exceptionsOf(one).find(({ impossible }) => impossible)?.reason;
}

/** Renders docs/nine-pairs.md: the scenarios, their number, and the exceptions. */
export function renderGrid(): string {
  const reasons: string[] = [];
  const note = (reason: string): string => {
    if (!reasons.includes(reason)) reasons.push(reason);
    return ` ${reasons.indexOf(reason) + 1}`;
  };
  const cellOf = (one: Case): string => {
    const impossible = whyImpossible(one);
    if (impossible !== undefined) return `–${note(impossible)}`;
    return `✓${exceptionsOf(one).map(({ reason }) => note(reason))}`;
  };
  const pairs = CLIENT_FORMATS.flatMap((client) => DIALECTS.map((dialect) => ({ client, dialect })));
  const rows = SCENARIOS.map((scenario) => [scenario.name, ...pairs.map((pair) => cellOf({ scenario, ...pair }))]);
  const header = ['', ...pairs.map(({ client, dialect }) => `${client} at ${dialect}`)];
  const count = everyCase().length;
  return `${INTRODUCTION}
**${SCENARIOS.length} scenarios at nine pairs make ${count} cases, and ${2 * count} requests.**

${[header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}

${reasons.map((reason, index) => `${index + 1}. ${reason}`).join('\n')}
`;
}

const INTRODUCTION = `# Nine pairs
<!-- Made from test/e2e/nine-pairs/. Change that, and run: NINE_PAIRS=write node scripts/test.mjs checks nine-pairs -->

Three client formats at upstreams of three dialects. Each scenario below is one conversation, written once in no format's words
([\`test/e2e/nine-pairs/\`](../test/e2e/nine-pairs)), and asked of every pair through the whole system: the official client of the format,
gateway, billing, catalog, inference-proxy, and a simulated upstream of the dialect. Each case (✓) is asked plain and streamed, and holds when

- the reply says what the scenario says that it must, in either mode, and the official client folds the stream to the plain reply;
- the usage in the reply is that of the upstream's own rule, the same in every format at every dialect;
- the bill, asked for as soon as the reply has ended, has that usage and costs it times the price, and nothing is held any more;
- a failure before content costs nothing, and one after it what had come, by estimate.

A dash is a case that cannot be asked; a number, why it cannot, or what is different there.
`;

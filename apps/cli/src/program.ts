import { Argument, Command, Option } from 'commander';
import { BUILD } from '#config/version.js';
import type { CliCommand } from './command.js';
import { invalid, kebab, type Parameter } from './parameters.js';

export interface ProgramOutput {
  writeOut(text: string): void;
  writeErr(text: string): void;
}

type Runner = (command: CliCommand, values: Record<string, unknown>, json: boolean) => Promise<void>;

/**
 * Builds the commander program of the commands. It writes help to `output`, throws `CommanderError` instead of exiting, and passes valid
 * commands to `run`.
 */
export function buildProgram(
  commands: readonly CliCommand[],
  groups: Readonly<Record<string, string>>,
  output: ProgramOutput,
  run: Runner,
): Command {
  const program = new Command('tollgate')
    .description('Administer Tollgate over NATS: accounts, projects, keys, money and the catalog.')
    .version(BUILD, '--version', 'show version, commit and Node')
    .exitOverride()
    // Options after a verb belong to the verb.
    .enablePositionalOptions()
    .configureOutput({ ...output, outputError: () => undefined })
    .helpCommand(false)
    .addHelpText('after', GENERAL_HELP);
  for (const [first, members] of Map.groupBy(commands, ({ name }) => name.split(' ', 1)[0] ?? name)) {
    const [single] = members;
    const stripNoun = ({ name }: CliCommand): string => name.slice(first.length + 1);
    if (single?.name === first) {
      const leaf = addCommand(program, first, single, run).enablePositionalOptions();
      for (const member of members.slice(1)) addCommand(leaf, stripNoun(member), member, run);
      continue;
    }
    const group = program.command(first).description(`${groups[first] ?? ''} (${members.map(stripNoun).join(', ')})`);
    group.addHelpText('after', examplesHelp(members.flatMap(({ examples }) => examples.slice(0, 1))));
    for (const member of members) addCommand(group, stripNoun(member), member, run);
  }
  return program;
}

const CALL = 'tollgate';
const GENERAL_HELP = `
Examples:
  ${CALL} account create --name acme
  ${CALL} topup --account acme --usd 25 --payment-id inv-1001
  ${CALL} project create --account acme --name web --rpm 600 --concurrency 50
  ${CALL} key create --project web --name ci

Every command has --help with its options and examples, and --json for scripts.
Accounts, projects and keys go by their name, their id, or a start that no other id has.
--account and --project may be left out where there is one.
A request id has to be whole: it starts with its time, so the requests of a minute all start alike.
Commands connect to NATS_URL as user cli with NATS_CLI_SEED or NATS_CLI_PASSWORD. After npm start none has to be set.`;

function examplesHelp(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  ${CALL} ${example}`).join('\n')}`;
}

function addCommand(parent: Command, word: string, command: CliCommand, run: Runner): Command {
  const leaf = parent.command(word).description(command.summary);
  const argumentNames: string[] = [];
  for (const [name, parameter] of Object.entries(command.parameters)) {
    if (parameter.kind === 'argument') {
      argumentNames.push(name);
      leaf.addArgument(new Argument(`<${kebab(name)}>`, parameter.description).argParser(parameter.parse));
    } else {
      leaf.addOption(makeOption(name, parameter));
    }
  }
  leaf.option('--json', 'print one JSON document');
  leaf.addHelpText('after', examplesHelp(command.examples));
  leaf.action(async (...args: unknown[]) => {
    const { json, ...options } = args[argumentNames.length] as Record<string, unknown>;
    const positional = Object.fromEntries(argumentNames.map((name, index) => [name, args[index]]));
    await run(command, { ...options, ...positional }, json === true);
  });
  return leaf;
}

function makeOption(name: string, { kind, short, placeholder, description, required, parse }: Parameter<unknown>): Option {
  if (kind === 'flag') return new Option(`--${kebab(name)}`, description);
  const flags = `${short === undefined ? '' : `-${short}, `}--${kebab(name)}`;
  // A second value would take the place of the first in silence.
  const parseOnce = (value: string, previous: unknown): unknown =>
    previous === undefined ? parse(value) : invalid('The option can be given once.');
  return new Option(`${flags} <${placeholder}>`, description).argParser(parseOnce).makeOptionMandatory(required);
}
